/** Limits on the size of an answer and the time of a request. */
import type { ErrorCode } from '../../../errors/index.js'
import { EngineError } from '../../engine-error.js'
import { FILTER_MS_MAX } from '../limits.js'

/** Set when the client has disconnected. */
export interface Stop {
  readonly aborted: boolean
}

/** Limits the size of an answer while it is written. */
export class Bounds {
  readonly #bytesMax: number
  #bytes: number

  /** @param bytesBefore bytes of preceding answers to other searches of the same request */
  constructor({ answerBytesMax }: { readonly answerBytesMax?: number }, bytesBefore = 0) {
    this.#bytesMax = answerBytesMax ?? Number.POSITIVE_INFINITY
    this.#bytes = bytesBefore
  }

  /** Counts `part`, which is added to the answer, and returns it. @throws EngineError `answer_too_large` */
  counted(part: string): string {
    this.add(Buffer.byteLength(part))
    return part
  }

  /** Counts bytes that are added to the answer. @throws EngineError `answer_too_large` */
  add(bytes: number): void {
    this.#bytes += bytes
    this.check()
  }

  /** Checks that `more` bytes still fit. @throws EngineError `answer_too_large` */
  check(more = 0): void {
    if (this.#bytes + more <= this.#bytesMax) return
    throw new EngineError(
      'answer_too_large',
      `the answer would have more than ${this.#bytesMax} bytes; ask for fewer hits, attributes, facets or searches at a time`,
    )
  }
}

/** @throws Error when the client has disconnected; the server does not report it */
export function checkStop(stop: Stop | undefined): void {
  if (stop?.aborted === true) throw new Error('a search was given up: its client is gone')
}

/** Deadlines of searches of a request that run without pauses, by `performance.now()`. */
export interface SharedTime {
  readonly filtersEndAt: number
  readonly rankingEndsAt: number
}

/**
 * Returns a check to call between the conditions of a filter: it throws if the client has disconnected or the time is
 * up.
 * @param code of the error after `FILTER_MS_MAX` milliseconds
 * @param shared an earlier deadline
 * @param now milliseconds of a monotonic clock
 */
export function filterClock(
  stop: Stop | undefined,
  code: ErrorCode,
  shared?: SharedTime,
  now = (): number => performance.now(),
): () => void {
  const deadline = Math.min(now() + FILTER_MS_MAX, shared?.filtersEndAt ?? Number.POSITIVE_INFINITY)
  return () => {
    checkStop(stop)
    if (now() <= deadline) return
    throw new EngineError(
      code,
      `the filter takes longer than ${FILTER_MS_MAX} ms; use fewer conditions, or \`IN\` for many values of one attribute`,
    )
  }
}
