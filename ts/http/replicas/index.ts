/** Replication state for clients: positions and lag. */
export { isWrite, learnTask, passOn } from './forward.js'
export { awaitPosition, showPositions } from './replicas.js'
