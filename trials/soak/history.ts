/**
 * Here is what clients saw of a few registers: could one server that keeps its word have shown that?
 *
 * A register is a document with a version. Its one writer counts up, and the queue keeps the order of its writes, so
 * that the versions of a register only rise:
 *
 * 1. A read shows at least every version whose task was seen to have succeeded before the read began.
 * 2. A read shows at most a version that was sent before the read ended, and never one that was refused, failed or
 *    canceled.
 * 3. A read shows at least what a read showed that had ended before it began.
 *
 * Kills and restarts change none of that.
 */

/** A version that was sent. Times are those of one monotonic clock. */
export interface RegisterWrite {
  readonly register: number
  readonly version: number
  readonly sentAt: number
  /** `unknown`: no answer came, or its task has not been seen to end. */
  readonly outcome: 'succeeded' | 'failed' | 'unknown'
  /** When a client saw its outcome; null: none did. */
  readonly knownAt: number | null
}

export interface RegisterRead {
  readonly register: number
  readonly beganAt: number
  readonly endedAt: number
  /** 0: the document was not there. */
  readonly version: number
}

/** What is wrong in a history, one line each. */
export function violations(writes: readonly RegisterWrite[], reads: readonly RegisterRead[]): string[] {
  const registers = new Set(reads.map(({ register }) => register))
  return [...registers].flatMap((register) => {
    const own = <T extends { readonly register: number }>(all: readonly T[]): readonly T[] =>
      all.filter((one) => one.register === register)
    return violationsOf(own(writes), own(reads))
  })
}

function violationsOf(writes: readonly RegisterWrite[], reads: readonly RegisterRead[]): string[] {
  const problems: string[] = []
  const byVersion = new Map(writes.map((write) => [write.version, write]))
  // Both bounds rise with time, so that each is one walk along the history.
  const known = sortedBy(writes, ({ outcome, knownAt }) => (outcome === 'succeeded' ? knownAt : null))
  const earlier = sortedBy(reads, ({ endedAt }) => endedAt)
  let floor = 0
  let [nextKnown, nextRead] = [0, 0]
  for (const read of sortedBy(reads, ({ beganAt }) => beganAt)) {
    for (let one = known[nextKnown]; one !== undefined; one = known[++nextKnown]) {
      if ((one.knownAt ?? 0) >= read.beganAt) break
      floor = Math.max(floor, one.version)
    }
    for (let one = earlier[nextRead]; one !== undefined; one = earlier[++nextRead]) {
      if (one.endedAt >= read.beganAt) break
      floor = Math.max(floor, one.version)
    }
    const shown = `register ${read.register}: a read showed version ${read.version}`
    if (read.version < floor) problems.push(`${shown}, although version ${floor} was there before it began`)
    if (read.version === 0) continue
    const write = byVersion.get(read.version)
    if (write === undefined || write.sentAt > read.endedAt) problems.push(`${shown}, which was not sent yet`)
    else if (write.outcome === 'failed') problems.push(`${shown}, whose task failed`)
  }
  return problems
}

/** The entries with a time, earliest first. */
function sortedBy<T>(entries: readonly T[], time: (entry: T) => number | null): readonly T[] {
  return entries.filter((entry) => time(entry) !== null).toSorted((a, b) => (time(a) ?? 0) - (time(b) ?? 0))
}
