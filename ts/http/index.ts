/** Here is an HTTP request, which answer does it get? */
export { type Feature, type FeatureFlags, type Features, featureNames, openFeatures } from './features.js'
export { isIndexUid } from './parse/index.js'
export { readSearch } from './search-body.js'
export { buildServer } from './server.js'
export {
  defaultHttpOptions,
  type HttpOptions,
  memoryBounds,
  type Services,
  type Version,
} from './services.js'
