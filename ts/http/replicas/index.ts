/** Replication state for clients: positions and lag. */
export { awaitPosition, showPositions } from './replicas.js'
