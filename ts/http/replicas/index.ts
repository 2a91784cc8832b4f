/** Here is a server that is kept in a bucket: how far is it, and does it have what a client has seen elsewhere? */
export { awaitPositions, type Replicated, type ReplicationFigures } from './replicas.js'
