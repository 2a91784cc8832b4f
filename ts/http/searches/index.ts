/** Queues searches and watches for disconnected clients. */
export { disconnectOf, type OnDisconnect, untilDisconnected } from './disconnect.js'
export { SearchQueue, type SearchQueueLimits } from './queue.js'
