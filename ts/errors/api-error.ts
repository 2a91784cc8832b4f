import { codes, type ErrorCode, type ErrorType } from './codes.js'
import { MESSAGE_CHARS_MAX } from './limits.js'

/** The four keys of every error body, also found in `task.error` and `remoteErrors`. */
export interface ErrorBody {
  readonly message: string
  readonly code: ErrorCode
  readonly type: ErrorType
  readonly link: string
}

/** An error the caller can act on: it carries a code of the table and names the offending value. */
export class ApiError extends Error {
  override readonly name: string = 'ApiError'
  readonly code: ErrorCode
  /** HTTP status; differs from the table's only where a route says so (index_not_found in multi-search). */
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
  return { message, code, type: codes[code].type, link: `https://docs.meilisearch.com/errors#${code}` }
}

/** What any thrown value looks like to a client: known errors as they are, the rest as `internal`. */
export function toErrorBody(error: unknown): ErrorBody {
  return error instanceof ApiError
    ? error.toJSON()
    : errorBody('internal', 'an internal error happened; see the log of the server')
}
