/** Here is a search: when may it run, which vector does it need, and is its client still connected? */
export { type DisconnectSignal, disconnectOf, type OnDisconnect, untilDisconnected } from './disconnect.js'
export { type Embeddable, searchEmbedded, withVector } from './embedding.js'
export { SearchQueue } from './queue.js'
