/** Here is an error: which code, type and status does a client get for it? */
export { ApiError, type ErrorBody, errorBody, type RecordedError, toErrorBody } from './api-error.js'
export { clientMessages } from './client-messages.js'
export { type CodeInfo, codes, type ErrorCode, type ErrorType, isErrorCode } from './codes.js'
