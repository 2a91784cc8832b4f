/** Here is an HTTP request, which answer does it get? */
export type { Replicated } from './replicas/index.js'
export { buildServer } from './server.js'
export {
  defaultHttpOptions,
  type HttpOptions,
  memoryBounds,
  type Services,
  type Version,
} from './services.js'
