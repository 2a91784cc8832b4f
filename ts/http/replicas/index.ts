/** Here is a server that is kept in a bucket: how far is it, and does it have what a client has seen elsewhere? */
export { awaitPosition, type Replicated, type ReplicationFigures, showPositions } from './replicas.js'
