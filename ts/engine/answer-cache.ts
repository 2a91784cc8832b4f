import { LRUCache } from 'lru-cache'
import type { Answer, Engine, IndexId } from './engine.js'

/** What an entry takes beside its key and its body. */
const ENTRY_BYTES = 512

/** A body as it is given again, with the number of milliseconds set to 0. */
interface Kept {
  readonly body: Buffer
  /** Where in the body the 36 characters of `requestUid` begin. */
  readonly uidAt: number
  readonly facts: Answer['facts']
}

/**
 * The same engine, which gives an answer again as long as the index is what it was.
 *
 * 1. Only searches by words are kept, and only answers that were not cut off.
 * 2. An answer given again differs in its `requestUid`, and took 0 ms.
 * 3. Whoever knows that a commit has resolved gets nothing from before it.
 *
 * @param bytesMax of all answers kept; those asked for longest ago go first. 0 keeps none
 */
export function cachingAnswers(engine: Engine, bytesMax: number): Engine {
  if (bytesMax <= 0) return engine
  const kept = new LRUCache<string, Kept>({
    maxSize: bytesMax,
    maxEntrySize: Math.ceil(bytesMax / 8),
    sizeCalculation: ({ body }, key) => body.length + key.length + ENTRY_BYTES,
  })
  /** Commits of this process; what was found before the newest one of an index is never looked up again. */
  let commits = 0
  const newest = new Map<IndexId, number>()

  const own: Pick<Engine, 'search' | 'commit' | 'drop'> = {
    async search(index, request, stop) {
      const text = asBuffer(request).toString()
      if (!isKept(text)) return engine.search(index, request, stop)
      const uidAt = text.indexOf(BEFORE_UID) + BEFORE_UID.length
      const uidEnd = text.indexOf('"', uidAt)
      const requestUid = text.slice(uidAt, uidEnd)
      const question = text.slice(0, uidAt) + text.slice(uidEnd)
      const key = `${newest.get(index) ?? 0} ${index} ${question}`
      const entry = kept.get(key)
      if (entry !== undefined) return again(entry, requestUid)
      const answer = await engine.search(index, request, stop)
      const made = keepable(answer, requestUid)
      if (made !== null) kept.set(key, made)
      return answer
    },
    async commit(prepared, vectors) {
      try {
        return await engine.commit(prepared, vectors)
      } finally {
        newest.set(prepared.index, ++commits)
      }
    },
    async drop(index) {
      await engine.drop(index)
      newest.delete(index)
    },
  }
  return new Proxy(engine, {
    get(target, name) {
      if (Object.hasOwn(own, name)) return own[name as keyof typeof own]
      const member: unknown = Reflect.get(target, name)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
}

// A member of a request as it is written. No text has one in it: there a quote has a backslash before it. Parsing the
// request instead took a tenth of what giving an answer again takes.
const BEFORE_UID = '"requestUid":"'
/** Vectors make long keys, and the rest differs each time. */
const KEPT_HAVE = ['"hybrid":null', '"vector":null', '"metadata":null', '"showPerformanceDetails":false']

const isKept = (request: string): boolean => KEPT_HAVE.every((member) => request.includes(member))

function keepable({ body, facts, timeAt }: Answer, requestUid: string): Kept | null {
  if (facts.degraded || timeAt === undefined) return null
  const bytes = asBuffer(body)
  let timeEnd = timeAt
  while (isDigit(bytes[timeEnd])) timeEnd += 1
  const timeless = Buffer.concat([bytes.subarray(0, timeAt), ZERO, bytes.subarray(timeEnd)])
  // Nothing that a client has written comes after it.
  return { body: timeless, uidAt: timeless.lastIndexOf(requestUid), facts }
}

function again({ body, uidAt, facts }: Kept, requestUid: string): Answer {
  const copy = Buffer.from(body)
  copy.write(requestUid, uidAt, 'latin1')
  return { body: copy, facts }
}

const ZERO = Buffer.from('0')

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= 0x30 && byte <= 0x39

const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
