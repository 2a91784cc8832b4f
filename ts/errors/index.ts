/** Error codes, with their types and HTTP status. */
export { ApiError, type ErrorBody, errorBody, type RecordedError, toErrorBody } from './api-error.js'
export { clientMessages } from './client-messages.js'
export { codes, type ErrorCode, isErrorCode } from './codes.js'
