/** Replication state for clients: positions and lag. */
export { awaitPosition, type Replicated, type ReplicationFigures, showPositions } from './replicas.js'
