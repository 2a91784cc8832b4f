import { codes, type ErrorCode, type ErrorType, errorLink } from './codes.js'
import { MESSAGE_CHARS_MAX } from './limits.js'

/** The error of a finished task. An imported task may have a code and a type outside the table. */
export interface RecordedError {
  readonly message: string
  readonly code: string
  readonly type: string
  readonly link: string
}

/** The body of an error. `task.error` and `remoteErrors` have the same form. */
export interface ErrorBody extends RecordedError {
  readonly code: ErrorCode
  readonly type: ErrorType
}

/** An error with a code of the table. Its message names the offending value. */
export class ApiError extends Error {
  override readonly name: string = 'ApiError'
  readonly code: ErrorCode
  /**
   * The HTTP status. Some routes override the status of the table, for example for `index_not_found` in a multi-search.
   */
  readonly status: number

  constructor(code: ErrorCode, message: string, status: number = codes[code].status) {
    super(message.length > MESSAGE_CHARS_MAX ? `${message.slice(0, MESSAGE_CHARS_MAX)}…` : message)
    this.code = code
    this.status = status
  }

  /** The body as sent to clients. */
  toJSON(): ErrorBody {
    return errorBody(this.code, this.message)
  }
}

/** An error body for `code`, as stored in tasks and sent to clients. */
export function errorBody(code: ErrorCode, message: string): ErrorBody {
  return { message, code, type: codes[code].type, link: errorLink(code) }
}

/**
 * Returns the error body for a thrown value: for an `ApiError` its own, for other errors `internal` without their
 * message.
 */
export function toErrorBody(error: unknown): ErrorBody {
  return error instanceof ApiError
    ? error.toJSON()
    : errorBody('internal', 'an internal error happened; see the log of the server')
}
