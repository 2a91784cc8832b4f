/** Here is another running instance, named on a command line: what does it answer, and why not? */
export { type Command, type CommandOutput, readFlags } from './command.js'
export { listAll } from './lists.js'
export { openPeer, type Peer, type PeerCall } from './peer.js'
export { PeerError } from './peer-error.js'
export { type PeerFlag, type PeerFlags, peerFlags, peerOptions } from './peer-flags.js'
export { finishedTask } from './tasks.js'
