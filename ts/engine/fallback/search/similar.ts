/** Finds documents similar to a document. Source: vectors §7. */
import type { SearchFacts } from '../../engine.js'
import { EngineError } from '../../engine-error.js'
import type { SearchRequest, SimilarRequest } from '../../requests.js'
import type { OpenIndex } from '../open-index.js'
import { bucketSort, type Ranked, vectorRule } from '../ranking/index.js'
import type { Embedder } from '../vector/index.js'
import { Bounds, checkStop } from './bounds.js'
import { type FilterContext, filteredDocuments, findCandidates, prefixOf } from './candidates.js'
import { HitWriter } from './hits.js'
import { plainSearch } from './plain-search.js'
import { embedderNamed } from './semantic.js'
import { Stages } from './stages.js'

export function similar(index: OpenIndex, request: StoppableSimilar): { json: string; facts: SearchFacts } {
  const started = performance.now()
  const stages = new Stages()
  const { indexUid, offset, limit } = request
  const embedder = embedderNamed(index, request.embedder, 'invalid_similar_embedder', indexUid)
  const candidates = filteredDocuments(index, request.filter, request, 'invalid_similar_filter')
  const target = visibleTarget(index, request)
  candidates.delete(target)
  stages.end('search > evaluate filter')
  const found = nearest(index, request, { embedder, target, docids: candidates.toArray() })
  checkStop(request.stop)
  stages.end('search > semantic ranking')
  const search = asSearch(request)
  const bounds = new Bounds(request)
  const ranking = {
    candidates: findCandidates(index, { ...search, filter: null }),
    sort: [],
  }
  const writer = new HitWriter(index, search, ranking, { bounds, hydration: null })
  const page = found.ranked.slice(offset, offset + limit)
  const total = Math.min(found.total, index.data.settings.pagination.maxTotalHits)
  const hits = page.map((ranked) => bounds.counted(writer.hit(ranked))).join(',')
  stages.end('search > format')
  return {
    json:
      `{"hits":[${hits}],"id":${JSON.stringify(request.id)},` +
      `"processingTimeMs":${Math.round(performance.now() - started)},"limit":${limit},"offset":${offset},` +
      `"estimatedTotalHits":${total}${request.showPerformanceDetails ? stages.text : ''}}`,
    facts: {
      degraded: false,
      usedNegativeOperator: false,
      terms: 0,
      semanticHits: page.length,
      hits: page.length,
    },
  }
}

/** A search for similar documents that stops when its client disconnects. */
type StoppableSimilar = SimilarRequest & FilterContext

function visibleTarget(index: OpenIndex, request: StoppableSimilar): number {
  const { id, indexUid, visible } = request
  const docid = index.data.docids.get(id)
  if (docid !== undefined && filteredDocuments(index, visible, request).has(docid)) return docid
  throw new EngineError(
    'not_found_similar_id',
    `${prefixOf(indexUid)}there is no document with the id \`${id}\``,
  )
}

/** Documents with vectors in order, and the total count. */
function nearest(
  index: OpenIndex,
  { offset, limit, rankingScoreThreshold: threshold, stop }: StoppableSimilar,
  { embedder, target, docids }: { embedder: Embedder; target: number; docids: Uint32Array },
): { ranked: readonly Ranked[]; total: number } {
  const set = index.data.vectors.get(embedder.name)
  const rows = set?.get(target)?.rows ?? new Float32Array(0)
  const dimensions = set?.dimensions ?? 0
  if (rows.length === 0) return { ranked: [], total: docids.length }
  const vectors = Array.from({ length: rows.length / dimensions }, (_, at) =>
    rows.slice(at * dimensions, (at + 1) * dimensions),
  )
  const result = bucketSort({
    docids,
    graph: null,
    rules: [vectorRule(set, embedder, vectors)],
    wanted: offset + limit,
    distinct: null,
    threshold,
    expired: () => stop?.aborted === true,
  })
  // The threshold is only checked for ranked documents, so with a threshold all documents are ranked.
  const total =
    threshold === null || !docids.some((docid) => set!.count(docid) > 0)
      ? docids.length
      : bucketSort({
          docids,
          graph: null,
          rules: [vectorRule(set, embedder, vectors)],
          wanted: docids.length,
          distinct: null,
          threshold,
          expired: () => stop?.aborted === true,
        }).ranked.length
  return { ranked: result.ranked.filter(({ docid }) => set!.count(docid) > 0), total }
}

/** Formats hits like those of a search without any options. */
const asSearch = (request: SimilarRequest): SearchRequest => ({
  ...request,
  ...plainSearch,
  q: null,
  paging: { kind: 'offset', offset: request.offset, limit: request.limit },
  matchingStrategy: 'last',
  attributesToSearchOn: null,
  locales: null,
  pins: [],
})
