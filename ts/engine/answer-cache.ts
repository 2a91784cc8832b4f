/** Here is a search: was it answered before, by the index as it is now? */
import { LRUCache } from 'lru-cache'
import { encodeRequest } from './encoding.js'
import type { Answer, CachedKind, Engine, IndexId, StopSignal } from './engine.js'
import { foreignIndexes } from './foreign-indexes.js'
import type { SearchRequest } from './requests.js'
import { withStages } from './timed-answers.js'

/** What an entry takes beside its key and its body. */
const ENTRY_BYTES = 512

/** An engine's answers to searches. */
export interface Answers {
  /**
   * As `Engine.search`, with the request itself.
   * @param isTimed whether the facts hold the times of the stages; those of a cached answer never do
   */
  search(index: IndexId, request: SearchRequest, stop?: StopSignal, isTimed?: boolean): Promise<Answer>
  /** What is cached now. */
  figures(): CachedKind
}

/** All that a cached answer depends on. Vectors make long keys, and the other fields left out differ each time. */
interface AnswerKey {
  readonly index: IndexId
  readonly revision: number
  /** Of the indexes that foreign keys lead to; absent without any. */
  readonly foreign?: readonly number[]
  readonly request: Omit<
    SearchRequest,
    'requestUid' | 'hybrid' | 'vector' | 'metadata' | 'showPerformanceDetails'
  >
}

/** A body as it is given again, with the number of milliseconds set to 0. */
interface CachedAnswer {
  readonly body: Buffer
  /** Where in the body the 36 characters of `requestUid` begin. */
  readonly uidAt: number
  readonly facts: Answer['facts']
}

/**
 * The engine's answers, given again as long as the index is what it was.
 *
 * 1. Only searches by words are cached, and only answers that were not cut off.
 * 2. An answer given again differs in its `requestUid`, and took 0 ms.
 * 3. A caller that knows that a commit has resolved gets nothing from before that commit.
 *
 * @param bytesMax of all cached answers; those asked for longest ago go first. 0 caches none
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
      const revisions = foreign.map((one) => engine.revision(one))
      const key = textOf(keyOf(index, engine.revision(index), revisions, request))
      const entry = cached.get(key)
      if (entry !== undefined) {
        hits += 1
        return again(entry, request.requestUid)
      }
      misses += 1
      const answer = await search()
      const made = cachedAnswer(answer, request.requestUid)
      if (made !== null) cached.set(key, made)
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

function keyOf(
  index: IndexId,
  revision: number,
  foreign: readonly number[],
  {
    requestUid: _,
    hybrid: _h,
    vector: _v,
    metadata: _m,
    showPerformanceDetails: _s,
    ...request
  }: SearchRequest,
): AnswerKey {
  return { index, revision, ...(foreign.length > 0 && { foreign }), request }
}

/** Different keys have different texts: requests are made in one place, so that their fields come in one order. */
const textOf = (key: AnswerKey): string => JSON.stringify(key)

function cachedAnswer(answer: Answer, requestUid: string): CachedAnswer | null {
  const { body, timeAt } = answer
  const { stages: _, ...facts } = answer.facts
  if (facts.degraded || timeAt === undefined) return null
  const bytes = asBuffer(body)
  let timeEnd = timeAt
  while (isDigit(bytes[timeEnd])) timeEnd += 1
  const timeless = Buffer.concat([bytes.subarray(0, timeAt), ZERO, bytes.subarray(timeEnd)])
  // Nothing that a client has written comes after it.
  return { body: timeless, uidAt: timeless.lastIndexOf(requestUid), facts }
}

function again({ body, uidAt, facts }: CachedAnswer, requestUid: string): Answer {
  const copy = Buffer.from(body)
  copy.write(requestUid, uidAt, 'latin1')
  return { body: copy, facts }
}

const ZERO = Buffer.from('0')

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= 0x30 && byte <= 0x39

const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
