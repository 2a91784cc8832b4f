/** Ranks hits with services, or models here, that score documents against a query. */
export { PERSONALIZED_HIT_BYTES_MAX } from './limits.js'
export { RerankError } from './rerank-error.js'
export { notConfigured, openRerankers, type PersonalizationOptions, type Rerankers } from './rerankers.js'
