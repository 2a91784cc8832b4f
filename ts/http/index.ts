/** Here is an HTTP request, which answer does it get? */
export { buildServer } from './server.js'
export {
  defaultHttpOptions,
  type HttpOptions,
  memoryBounds,
  type Services,
  type Version,
} from './services.js'
