/** Caches search answers until the index changes. */
import { LRUCache } from 'lru-cache'
import { encodeRequest } from './encoding.js'
import type { Answer, CachedKind, Engine, StopSignal } from './engine.js'
import { foreignIndexes } from './foreign-indexes.js'
import type { IndexId } from './index-id.js'
import type { SearchRequest } from './requests.js'
import { withStages } from './timed-answers.js'

/** Bytes of an entry in addition to its key and its body. */
const ENTRY_BYTES = 512

/** Answers searches, from the cache if possible. */
export interface Answers {
  /**
   * Like `Engine.search`, but takes the decoded request.
   * @param isTimed true to include stage times in the facts; cached answers never have them
   */
  search(index: IndexId, request: SearchRequest, stop?: StopSignal, isTimed?: boolean): Promise<Answer>
  /** Current cache statistics. */
  figures(): CachedKind
}

/** Requests with vectors are not cached, because vectors make long keys. The other fields differ in each request. */
type KeyField = Exclude<
  keyof SearchRequest,
  'requestUid' | 'hybrid' | 'vector' | 'metadata' | 'showPerformanceDetails'
>

/** Fields of a request that its cached answer depends on. The type demands all. */
const keyFields = Object.keys({
  indexUid: true,
  q: true,
  paging: true,
  attributesToRetrieve: true,
  attributesToCrop: true,
  cropLength: true,
  cropMarker: true,
  attributesToHighlight: true,
  highlightPreTag: true,
  highlightPostTag: true,
  showMatchesPosition: true,
  filter: true,
  sort: true,
  distinct: true,
  facets: true,
  matchingStrategy: true,
  attributesToSearchOn: true,
  rankingScoreThreshold: true,
  locales: true,
  embeddingMs: true,
  retrieveVectors: true,
  showRankingScore: true,
  showRankingScoreDetails: true,
  features: true,
  foreignKeys: true,
  pins: true,
  scales: true,
  only: true,
  answerBytesMax: true,
} satisfies Record<KeyField, true>) as readonly KeyField[]

/** A cached body, with `processingTimeMs` set to 0. */
interface CachedAnswer {
  readonly body: Buffer
  /** Byte offset in the body of the 36 characters of `requestUid`. */
  readonly uidAt: number
  readonly facts: Answer['facts']
}

/**
 * Caches the answers of an engine for as long as the index does not change.
 *
 * 1. Only keyword searches are cached, and only complete answers.
 * 2. A cached answer has its own `requestUid` and takes 0 ms.
 * 3. After a commit has resolved, no answer from before the commit is returned.
 *
 * @param bytesMax of all cached answers, evicted in LRU order; 0 disables the cache
 */
export function answersOf(engine: Engine, bytesMax: number): Answers {
  const cached =
    bytesMax <= 0
      ? null
      : new LRUCache<string, CachedAnswer>({
          maxSize: bytesMax,
          maxEntrySize: Math.ceil(bytesMax / 8),
          sizeCalculation: ({ body }, key) => body.length + key.length + ENTRY_BYTES,
        })
  let hits = 0
  let misses = 0
  return {
    async search(index, request, stop, isTimed = false) {
      const foreign = foreignIndexes(request)
      const search = async () => {
        if (!isTimed) return engine.search(index, encodeRequest(request), stop, foreign)
        const timed = encodeRequest({ ...request, showPerformanceDetails: true })
        return withStages(await engine.search(index, timed, stop, foreign), request.showPerformanceDetails)
      }
      if (cached === null || !isCacheable(request)) return search()
      const revisions = foreign.map((id) => engine.revision(id))
      const key = keyOf(index, engine.revision(index), revisions, request)
      const entry = cached.get(key)
      if (entry !== undefined) {
        hits += 1
        return answerFrom(entry, request.requestUid)
      }
      misses += 1
      const answer = await search()
      const cacheable = cachedAnswer(answer, request.requestUid)
      if (cacheable !== null) cached.set(key, cacheable)
      return answer
    },
    figures: () => ({
      kind: 'answers',
      hits,
      misses,
      entries: cached?.size ?? 0,
      bytes: cached?.calculatedSize ?? 0,
    }),
  }
}

const isCacheable = ({ hybrid, vector, metadata, showPerformanceDetails }: SearchRequest): boolean =>
  hybrid === null && vector === null && metadata === null && !showPerformanceDetails

/**
 * Returns the same text for requests with the same answer.
 * @param foreign revisions of the indexes that foreign keys refer to
 */
const keyOf = (
  index: IndexId,
  revision: number,
  foreign: readonly number[],
  request: SearchRequest,
): string =>
  // An array makes shorter texts than an object.
  JSON.stringify([index, revision, foreign, ...keyFields.map((name) => request[name])])

function cachedAnswer(answer: Answer, requestUid: string): CachedAnswer | null {
  const { body, timeAt } = answer
  const { stages: _, ...facts } = answer.facts
  if (facts.degraded || timeAt === undefined) return null
  const bytes = asBuffer(body)
  let timeEnd = timeAt
  while (isDigit(bytes[timeEnd])) timeEnd += 1
  const timeless = Buffer.concat([bytes.subarray(0, timeAt), ZERO, bytes.subarray(timeEnd)])
  // No client-provided text comes after it.
  return { body: timeless, uidAt: timeless.lastIndexOf(requestUid), facts }
}

function answerFrom({ body, uidAt, facts }: CachedAnswer, requestUid: string): Answer {
  const copy = Buffer.from(body)
  copy.write(requestUid, uidAt, 'latin1')
  return { body: copy, facts }
}

const ZERO = Buffer.from('0')

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= 0x30 && byte <= 0x39

const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
