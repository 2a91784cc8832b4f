/** Replication of an instance through a bucket: the writer sends changes, followers and restores read them. */

export { Election } from './elect/election.js'
export { beat } from './elect/heartbeat.js'
export { type Candidacy, Follower, type FollowerFigures } from './follow/follower.js'
export {
  type CopySetup,
  type CopyTarget,
  InstanceCopy,
  LogTruncatedError,
} from './follow/instance-copy.js'
export { type OpenedCopy, openCopy, prepareCopy, resumeCopy } from './follow/open-copy.js'
export { leaveAsCopy } from './follow/open-follower.js'
export type { CopiedStore } from './follow/replica.js'
export { type Restored, restoreInstance } from './follow/restore.js'
export { acknowledging, type Writes } from './lead/acknowledging.js'
export {
  type Claimant,
  type Connected,
  connect,
  ForeignLogError,
  type Place,
  SupersededError,
  stand,
  takeOver,
} from './lead/connect.js'
export { openElected, openReplicated } from './lead/open-replicated.js'
export { notLeader } from './lead/refusals.js'
export { GARBAGE_AGE_MS } from './limits.js'
export { DamagedBodyError } from './log/body.js'
export { DamagedCheckpointError } from './log/checkpoint.js'
export { encodeAbout, type Fence, fenceOf } from './log/fence.js'
export { LOG_FORMAT, NewerFormatError } from './log/format.js'
export { LogState } from './log/log-state.js'
export { type Position, positionText, readPosition } from './log/position.js'
export { MomentGoneError, type Until } from './log/until.js'
export * from './object-store/index.js'
export { openBucket } from './open-bucket.js'
export { PositionWatch } from './position-watch.js'
export { Garbage } from './publish/garbage.js'
export { type OwnState, readOwnState } from './publish/own-state.js'
export { Sender } from './publish/sender.js'
export type { Acknowledgement, SenderFigures, SenderSetup, Sending } from './publish/sender-setup.js'
export { Shipper } from './publish/shipper.js'
export { fetchUploads } from './publish/uploads.js'
export { type Leader, type Replicated, type ReplicationFigures, replicatedBy } from './replicated.js'
export type { ReplicatedInstance, ReplicationRequest, StartRole } from './replicated-instance.js'
