/** Replication of an instance through a bucket: the writer sends changes, followers and restores read them. */
export { DamagedCheckpointError } from './checkpoint.js'
export { DamagedBodyError } from './body.js'
export {
  type Claimant,
  type Connected,
  connect,
  ForeignLogError,
  type Place,
  SupersededError,
  takeOver,
} from './connect.js'
export { encodeAbout, type Fence, fenceOf } from './fence.js'
export { Follower, type FollowerFigures } from './follower.js'
export { Garbage } from './garbage.js'
export {
  type CopySetup,
  type CopyTarget,
  InstanceCopy,
  LogTruncatedError,
} from './instance-copy.js'
export { GARBAGE_AGE_MS } from './limits.js'
export { LogState } from './log-state.js'
export { type OpenedCopy, openCopy, prepareCopy, resumeCopy } from './open-copy.js'
export { type OwnState, readOwnState } from './own-state.js'
export { type Position, positionText, readPosition } from './position.js'
export { notLeader } from './refusals.js'
export { type Restored, restoreInstance } from './restore.js'
export { Sender } from './sender.js'
export type { Acknowledgement, SenderFigures, SenderSetup, Sending } from './sender-setup.js'
export { Shipper, type ShipperSetup } from './shipper.js'
export { MomentGoneError, type Until } from './until.js'
export { fetchUploads } from './uploads.js'
