/**
 * Decides if a search with `hybrid` uses keywords, vectors, or both.
 *
 * Source: vectors §6.2, §6.3. The first rule that applies decides:
 * 1. no `hybrid`, or a ratio of 0: keywords.
 * 2. nothing to search for: keywords, which is a placeholder search.
 * 3. an unknown embedder, or a vector of another length: error.
 * 4. a ratio of 1, or no words: vectors; an error without a vector.
 * 5. otherwise both; keywords only without a vector.
 */
import { EngineError } from '../../engine-error.js'
import type { SearchRequest } from '../../requests.js'
import { trimmed } from '../fields/flatten.js'
import type { OpenIndex } from '../open-index.js'
import { type RankingRule, vectorRule } from '../ranking/index.js'
import { floatText } from '../store/json.js'
import { type Embedder, embeddersOf } from '../vector/index.js'
import { prefixOf } from './candidates.js'

type SearchKind =
  /** `missingRatio`: the requested semantic ratio if the query has no vector; otherwise null. */
  | { readonly kind: 'keyword'; readonly missingRatio: number | null }
  | { readonly kind: 'semantic'; readonly rule: RankingRule }
  | { readonly kind: 'hybrid'; readonly rule: RankingRule; readonly ratio: number }

type HybridRequest = Pick<SearchRequest, 'indexUid' | 'q' | 'hybrid' | 'vector'>

export function kindOf(index: OpenIndex, { indexUid, q, hybrid, vector }: HybridRequest): SearchKind {
  const blank = q === null || trimmed(q) === ''
  if (hybrid === null || hybrid.semanticRatio === 0 || (blank && vector === null))
    return { kind: 'keyword', missingRatio: null }
  const embedder = embedderNamed(index, hybrid.embedder, 'invalid_search_embedder', indexUid)
  const set = index.data.vectors.get(embedder.name)
  const dimensions = embedder.dimensions ?? set?.dimensions ?? 0
  if (vector !== null && dimensions > 0 && vector.length !== dimensions)
    throw new EngineError(
      'invalid_vector_dimensions',
      `${prefixOf(indexUid)}expected ${dimensions} dimensions for the embedder \`${embedder.name}\`, ` +
        `found ${vector.length}`,
    )
  const semanticOnly = hybrid.semanticRatio === 1 || blank
  if (vector === null) {
    if (!semanticOnly) return { kind: 'keyword', missingRatio: hybrid.semanticRatio }
    throw new EngineError(
      'vector_embedding_error',
      `${prefixOf(indexUid)}the embedder \`${embedder.name}\` of source \`${embedder.source}\` cannot turn the ` +
        'query into a vector here: give one in `vector`',
    )
  }
  const rule = vectorRule(set, embedder, [Float32Array.from(vector)])
  return semanticOnly ? { kind: 'semantic', rule } : { kind: 'hybrid', rule, ratio: hybrid.semanticRatio }
}

/** JSON text of a query vector, with components rounded to 32 bits as they are compared. */
export const vectorText = (vector: readonly number[]): string =>
  `[${vector.map((component) => floatText(Math.fround(component))).join(',')}]`

/** @throws EngineError with `code` if the embedder does not exist */
export function embedderNamed(
  { data }: OpenIndex,
  name: string,
  code: 'invalid_search_embedder' | 'invalid_similar_embedder',
  indexUid: string,
): Embedder {
  const embedder = embeddersOf(data.settings).get(name)
  if (embedder === undefined)
    throw new EngineError(code, `${prefixOf(indexUid)}there is no embedder named \`${name}\``)
  return embedder
}
