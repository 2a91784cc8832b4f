/** HTTP client for other running instances. */
export {
  type Check,
  isCount,
  isFlag,
  isObject,
  isText,
  isTexts,
  isUrl,
  list,
  mapOf,
  maybe,
  object,
  type Shape,
} from './answers.js'
export { type CallTarget, caller, type PeerCall, type SendCall } from './calls.js'
export { fetchDocuments, nextPageDocuments, type Page, PageReader } from './documents.js'
export { listAll } from './lists.js'
export { openPeer, type Peer, type PeerAddress, type PeerFlag, type PeerSetup } from './peer.js'
export { PeerError } from './peer-error.js'
export { RefusedError } from './refused-error.js'
export { acceptedTask, endedTask, finishedTask, type PeerTask, requireSucceeded } from './tasks.js'
