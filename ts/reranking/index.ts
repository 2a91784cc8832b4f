/** Ranks hits with services that score documents against a query. */
export { type RankedDocument, RerankError } from './call.js'
export { PERSONALIZED_HIT_BYTES_MAX } from './limits.js'
export {
  notConfigured,
  openRerankers,
  type PersonalizationOptions,
  type Rerankers,
  type RerankFigures,
  rerankOutcomes,
} from './rerankers.js'
