/** Requests of the hostile trial with their expected outcome. */
import type { ErrorCode } from '../../ts/errors/index.js'
import type { HostileRequest } from './request.js'

export interface Bounds {
  /** Longest allowed time without any answer, in milliseconds. */
  readonly stopMsMax: number
  /** Allowed growth of anonymous memory, during a request and after it. */
  readonly growthBytesMax: number
}

export interface Case {
  readonly name: string
  /** Sent in order before the measurement. Each must succeed. */
  readonly prepare?: readonly HostileRequest[]
  /** Sent concurrently. */
  readonly requests: readonly HostileRequest[]
  readonly wanted: {
    readonly statuses: readonly number[]
    /** Allowed error codes; any if not given. */
    readonly code?: readonly ErrorCode[]
    /** Allowed outcomes of the task: `succeeded`, `canceled` or error codes. Default: anything but `internal`. */
    readonly task?: readonly string[]
    /** If true, every request must be refused and must change nothing. */
    readonly refused?: true
    /** If true, the server may close the connection without an answer. */
    readonly hangUp?: true
  }
  /** Expected answers afterwards. */
  readonly afterwards?: readonly {
    readonly request: HostileRequest
    readonly status: number
    readonly holds?: string
  }[]
  /** Known defect. `npm test` skips the case. */
  readonly open?: string
  /** Indexes to delete afterwards. */
  readonly indexes?: readonly string[]
  /** Bounds that differ from the default, with the reason in a comment. */
  readonly bounds?: Partial<Bounds>
}
