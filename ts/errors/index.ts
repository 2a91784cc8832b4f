/** Which errors can this API answer, and how does each look to a client? */
export { ApiError, type ErrorBody, errorBody, toErrorBody } from './api-error.js'
export { type CodeInfo, codes, type ErrorCode, type ErrorType, isErrorCode } from './codes.js'
