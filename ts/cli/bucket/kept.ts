import type { ApiError } from '../../errors/index.js'
import type { FollowedInstance, Instance } from '../../instance/index.js'
import type { LaunchOptions } from '../../launch/index.js'
import type { Follower, Sender } from '../../replication/index.js'
import type { Logger } from '../../telemetry/index.js'
import type { OpenedBucket } from './open-bucket.js'

export interface KeptRequest {
  readonly bucket: OpenedBucket
  readonly options: LaunchOptions
  /** The data directory. */
  readonly directory: string
  readonly version: string
  readonly signal: AbortSignal
  readonly log: Logger
  /** Whether another server writes. */
  readonly follows: boolean
  /** Opens the data directory. */
  readonly open: (keepsChanges: boolean) => Promise<Instance>
  /** Opens it as a copy. @param refusal the error for a write */
  readonly openFollowed: (refusal: () => ApiError) => Promise<FollowedInstance>
  /** Called once, when the server has to be started again. @param follows whether as a follower */
  readonly onEnd: (follows: boolean) => void
}

/** An instance that is kept in a bucket. */
export interface Kept {
  readonly instance: Instance | FollowedInstance
  /** null: nothing is sent. */
  readonly sender: Sender | null
  /** null: this server writes. */
  readonly follower: Follower | null
}
