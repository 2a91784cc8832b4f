/** May an answer grow on? */
import type { ErrorCode } from '../../../errors/index.js'
import { EngineError } from '../../engine-error.js'
import { FILTER_MS_MAX } from '../limits.js'

/** Whether the client still waits for the answer. */
export interface Stop {
  readonly aborted: boolean
}

/** What the answer of a request may take, looked at while it is written. */
export class Bounds {
  readonly #bytesMax: number
  #bytes: number

  /** @param bytesBefore of answers to other searches of the same request, which stand before this one */
  constructor({ answerBytesMax }: { readonly answerBytesMax?: number }, bytesBefore = 0) {
    this.#bytesMax = answerBytesMax ?? Number.POSITIVE_INFINITY
    this.#bytes = bytesBefore
  }

  /** `part`, which the answer has from here on. @throws EngineError `answer_too_large` */
  counted(part: string): string {
    this.add(Buffer.byteLength(part))
    return part
  }

  /** Counts bytes that the answer has from here on. @throws EngineError `answer_too_large` */
  add(bytes: number): void {
    this.#bytes += bytes
    this.check()
  }

  /** Whether the answer may have so many bytes more. @throws EngineError `answer_too_large` */
  check(more = 0): void {
    if (this.#bytes + more <= this.#bytesMax) return
    throw new EngineError(
      'answer_too_large',
      `the answer would have more than ${this.#bytesMax} bytes; ask for fewer hits, attributes, facets or searches at a time`,
    )
  }
}

/** @throws Error once the client is gone, which the server keeps to itself then */
export function checkStop(stop: Stop | undefined): void {
  if (stop?.aborted === true) throw new Error('a search was given up: its client is gone')
}

/** When searches of one request have to end that run without a pause in between; by `performance.now()`. */
export interface SharedTime {
  readonly filtersEndAt: number
  readonly rankingEndsAt: number
}

/**
 * What a filter asks between its conditions: whether the client still waits, and whether there is time left.
 * @param code of the error once `FILTER_MS_MAX` milliseconds have passed
 * @param shared ends it earlier
 * @param now milliseconds of a clock that only rises
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
