/** Milliseconds up to which each millisecond has its own class. Beyond, classes grow with the duration. */
const EXACT_MS = 64
/** Classes per doubling of the duration. With 16, a figure is at most 5 % above the measured time. */
const CLASSES_PER_DOUBLING = 16
/** Number of doublings, which reaches half an hour. */
const DOUBLINGS = 15
const CLASSES = EXACT_MS + 1 + DOUBLINGS * CLASSES_PER_DOUBLING

/** Counts of durations by class, for a percentile of any number of requests. */
export class Durations {
  readonly #counts = new Uint32Array(CLASSES)
  #total = 0

  add(ms: number): void {
    const at = Math.min(classOf(ms), CLASSES - 1)
    this.#counts[at] = (this.#counts[at] ?? 0) + 1
    this.#total += 1
  }

  /** The longest of the shortest 99 %, in milliseconds; null if none was added. */
  p99(): number | null {
    if (this.#total === 0) return null
    let left = Math.max(1, Math.floor(this.#total * 0.99))
    const at = this.#counts.findIndex((count) => {
      left -= count
      return left <= 0
    })
    return longestOf(at)
  }
}

function classOf(ms: number): number {
  const whole = Math.ceil(Math.max(0, ms))
  if (whole <= EXACT_MS) return whole
  return EXACT_MS + Math.ceil(Math.log2(whole / EXACT_MS) * CLASSES_PER_DOUBLING)
}

function longestOf(at: number): number {
  if (at <= EXACT_MS) return at
  return Math.floor(EXACT_MS * 2 ** ((at - EXACT_MS) / CLASSES_PER_DOUBLING))
}
