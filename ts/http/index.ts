/** The HTTP server. */
export type { Replicated } from './replicas/index.js'
export { buildServer } from './server.js'
export {
  defaultHttpOptions,
  type HttpOptions,
  memoryBounds,
  type Services,
  type Version,
} from './services.js'
