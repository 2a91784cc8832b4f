/** Here is a route: what does it accept and answer, and does a request fit that? */
export { type ApiDocument, collectOperations } from './openapi.js'
export type { NoFields, Operation } from './operation.js'
export { type Authorized, type Call, type ReadBody, serve } from './serve.js'
export { param, rawQuery } from './url.js'
