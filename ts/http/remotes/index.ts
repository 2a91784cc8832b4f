/** Here is a search that other instances take part in: what do all of them together answer? */
export { type FederatedPart, readPart } from './answer.js'
export { askRemote, PROXY_HEADER } from './ask.js'
export { type Joining, joinedAnswer, type NamedPart } from './join.js'
export { type Network, NetworkBook, type Remote } from './network-book.js'
