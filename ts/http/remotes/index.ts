/** Searches other instances and merges their answers. */
export { readPart } from './answer.js'
export { askRemote, PROXY_HEADER, shareOf } from './ask.js'
export { REMOTE_ANSWER } from './limits.js'
export { mergedAnswer, type NamedPart } from './merge.js'
export { type Network, NetworkBook, type Remote } from './network-book.js'
export { mayJoin, narrowedRights, RIGHTS_ENFORCED, RIGHTS_HEADER, rightsHeader } from './rights.js'
export { remoteStates } from './state.js'
