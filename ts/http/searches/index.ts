/** Here is a search: when may it run, and is its client still connected? */
export { disconnectOf, type OnDisconnect, untilDisconnected } from './disconnect.js'
export { SearchQueue } from './queue.js'
