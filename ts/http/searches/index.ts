/** Here is a search: when may it run, which vector does it need, and does its client still wait? */
export { type Disconnect, disconnection, type OnGone, untilGone } from './disconnect.js'
export { type Embeddable, searchEmbedded, withVector } from './embedding.js'
export { SearchQueue } from './queue.js'
