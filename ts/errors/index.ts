/** Error codes, with their types and HTTP status. */
export { ApiError, type ErrorBody, errorBody, type RecordedError, toErrorBody } from './api-error.js'
export { clientMessages } from './client-messages.js'
export { type CodeInfo, codes, type ErrorCode, type ErrorType, errorLink, isErrorCode } from './codes.js'
