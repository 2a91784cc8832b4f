/** Ranks hits with services that score documents against a query. */
export { RerankError } from './call.js'
export { PERSONALIZED_HIT_BYTES_MAX } from './limits.js'
export { notConfigured, openRerankers, type PersonalizationOptions, type Rerankers } from './rerankers.js'
