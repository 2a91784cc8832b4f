/** Errors for writes to a server with a bucket: refused, or with an unknown outcome. */
import { ApiError } from '../../errors/index.js'

/** Refusal on a follower. @param address of the leader; null: not known */
export const notLeader = (address: string | null): ApiError =>
  new ApiError(
    'not_leader',
    `this server is a follower and takes no writes: send them to ${address ?? 'the leader'}`,
  )

/** Refusal while the bucket does not answer. */
export const unavailable = (): ApiError =>
  new ApiError(
    'bucket_unavailable',
    'the bucket does not answer: writes are refused until it does, searches still work',
  )

/** Refusal while another server takes over. */
export const yielding = (): ApiError =>
  new ApiError(
    'bucket_unavailable',
    'another server is about to take over: writes are refused for a few seconds, retry then',
  )

/** Refusal before the log was taken over. */
export const notConfirmed = (): ApiError =>
  new ApiError(
    'bucket_unavailable',
    'this server has not read the log in the bucket to its end yet, and another one may have taken over since its last stop: writes are refused until the log was read, searches still work; start it with --bucket-sole-writer if no other server exists',
  )

/** The outcome of a write is unknown: it may be lost. */
export const unknownOutcome = (why: string): ApiError =>
  new ApiError(
    'bucket_unavailable',
    `${why}: the write is stored here, but may not be in the bucket; check GET /tasks before you send it again`,
  )

/** Refusal during shutdown. */
export const stopping = (): ApiError =>
  new ApiError('bucket_unavailable', 'the server stops: writes are refused')
