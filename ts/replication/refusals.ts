/** Why a server that sends to a bucket does not take a write, or cannot tell what became of it. */
import { ApiError } from '../errors/index.js'

/** The refusal of a write. @param address of the server that writes; null: not known */
export const notTheWriter = (address: string | null): ApiError =>
  new ApiError(
    'not_leader',
    `this server follows another one and takes no writes: send them to ${address ?? 'the one that writes to the bucket'}`,
  )

/** The refusal of a write while the bucket is away. */
export const unavailable = (): ApiError =>
  new ApiError(
    'bucket_unavailable',
    'the bucket does not answer, so that nothing can be written; searches go on, and writes will once it answers',
  )

/** The refusal of a write while another server takes over. */
export const yielding = (): ApiError =>
  new ApiError(
    'bucket_unavailable',
    'another server is about to take over, so that nothing can be written for a few seconds; send it again then',
  )

/** The refusal of a write before the log was taken over. */
export const notConfirmed = (): ApiError =>
  new ApiError(
    'bucket_unavailable',
    'this server has not read the log in the bucket to its end yet, and another one may have taken over since it was stopped: searches go on, and writes will once the log was read; start it with --bucket-sole-writer if no other server exists',
  )

/** A write of which it is not known whether it will last. */
export const unknownOutcome = (why: string): ApiError =>
  new ApiError(
    'bucket_unavailable',
    `${why}: the write is stored here, and it is not known whether the bucket has it; look at GET /tasks before it is sent again`,
  )

/** The refusal of a write at the end of a server. */
export const stopping = (): ApiError =>
  new ApiError('bucket_unavailable', 'the server stops, so that nothing can be written')
