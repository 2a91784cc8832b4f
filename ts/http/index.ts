/** The HTTP server. */
export { buildServer } from './server.js'
export {
  defaultHttpOptions,
  type HttpOptions,
  memoryBounds,
  type Services,
  type Version,
} from './services.js'
