/** Here is another running instance: what does it answer, and why not? */
export { type CallTarget, caller, type PeerCall, type SendCall } from './calls.js'
export { type Command, type CommandOutput, readFlags } from './command.js'
export { listAll } from './lists.js'
export { openPeer, type Peer } from './peer.js'
export { PeerError } from './peer-error.js'
export { type PeerFlag, type PeerFlags, peerFlags, peerOptions } from './peer-flags.js'
export { RefusedError } from './refused-error.js'
export { finishedTask } from './tasks.js'
