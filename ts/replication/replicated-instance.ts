import type { ApiError } from '../errors/index.js'
import type { FollowerInstance, Instance } from '../instance/index.js'
import type { LaunchOptions } from '../launch/index.js'
import type { Outbound } from '../outbound/index.js'
import type { Logger } from '../telemetry/index.js'
import type { Follower } from './follow/follower.js'
import type { Connected } from './lead/connect.js'
import type { OpenedBucket } from './open-bucket.js'
import type { PositionWatch } from './position-watch.js'
import type { Sender } from './publish/sender.js'

interface Progress {
  /** @param total 0: unknown */
  show(doing: string, finished: number, total: number): void
  end(): void
}

/**
 * How a server starts. `follower`: a candidate that has led from its directory leads on, unless another server took
 * over. `former leader`: another server has taken over from it.
 */
export type StartRole = 'leader' | 'follower' | 'former leader'

export interface ReplicationRequest {
  readonly bucket: OpenedBucket
  readonly options: LaunchOptions
  /** The data directory. */
  readonly directory: string
  readonly version: string
  readonly signal: AbortSignal
  readonly log: Logger
  /** Shows the progress of a long copy. */
  readonly openProgress: () => Promise<Progress>
  readonly startsAs: StartRole
  /** Opens the data directory. */
  readonly open: (keepsChanges: boolean) => Promise<Instance>
  /** Opens the data directory as a copy. @param refusal returns the error for writes */
  readonly openFollowed: (refusal: () => ApiError) => Promise<FollowerInstance>
  /** Calls other servers of the bucket. */
  readonly peers: Pick<Outbound, 'call'>
  /**
   * Called when this follower has taken over the log: `openElected` opens its directory as leader. Resolves once it
   * serves.
   */
  readonly onElected: (taken: Connected) => Promise<void>
  /** Called once when the server must restart. */
  readonly onEnd: (as: StartRole) => void
}

/** An instance and its replication. */
export interface ReplicatedInstance {
  readonly instance: Instance | FollowerInstance
  /** null: nothing is sent. */
  readonly sender: Sender | null
  /** null: this server is not a follower. */
  readonly follower: Follower | null
  /** The last log record of this server; null: there is no log. */
  readonly watch: PositionWatch | null
  /** Restarts the instance of a leader in this process. Absent: this is no leader. */
  readonly restart?: () => void
}
