/**
 * Checks the history of a few registers, as clients saw it, for consistency.
 *
 * A register is a document with a version. Its only writer increments the version, and the queue keeps the order of
 * writes, so the versions of a register only rise:
 *
 * 1. A read returns at least every version whose task was seen as succeeded before the read began.
 * 2. A read returns at most a version sent before the read ended, and never a refused, failed or canceled version.
 * 3. A read returns at least the version of every read that ended before it began.
 *
 * These rules also hold across kills and restarts.
 */

/** A write of a version. Times are from one monotonic clock. */
export interface RegisterWrite {
  readonly register: number
  readonly version: number
  readonly sentAt: number
  /** `unknown`: no answer came, or its task was not seen to end. */
  readonly outcome: 'succeeded' | 'failed' | 'unknown'
  /** When a client saw the outcome; null if no client did. */
  readonly knownAt: number | null
}

export interface RegisterRead {
  readonly register: number
  readonly beganAt: number
  readonly endedAt: number
  /** 0 if the document did not exist. */
  readonly version: number
}

/** Returns a line for each violation in a history. */
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
  // Both bounds rise with time, so one pass over the history suffices for each.
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
    const shown = `register ${read.register}: a read returned version ${read.version}`
    if (read.version < floor) problems.push(`${shown}, although version ${floor} existed before it began`)
    if (read.version === 0) continue
    const write = byVersion.get(read.version)
    if (write === undefined || write.sentAt > read.endedAt) problems.push(`${shown}, which was not sent yet`)
    else if (write.outcome === 'failed') problems.push(`${shown}, whose task failed`)
  }
  return problems
}

/** Returns the entries with a time, earliest first. */
function sortedBy<T>(entries: readonly T[], time: (entry: T) => number | null): readonly T[] {
  return entries.filter((entry) => time(entry) !== null).toSorted((a, b) => (time(a) ?? 0) - (time(b) ?? 0))
}
