/** Declares routes: their parameters, bodies and answers, and the OpenAPI document. */
export { type ApiDocument, collectOperations } from './openapi.js'
export type { NoFields, Operation } from './operation.js'
export { type Authorized, type Call, type ReadBody, serve } from './serve.js'
export { param, rawQuery } from './url.js'
