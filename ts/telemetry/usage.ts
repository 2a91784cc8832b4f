import { type Facts, type MetricName, type UsageEvent, usageMetrics } from './metrics.js'

/** A figure of a report. */
export type Figure = boolean | number | string | null | readonly string[]

/** The requests of one kind since the last report. */
export interface UsageReport {
  readonly event: UsageEvent
  /** How many requests. */
  readonly count: number
  /** Metrics that were observed at least once. */
  readonly figures: Readonly<Partial<Record<MetricName, Figure>>>
}

/** Counts the use of the service in memory. It sends nothing. */
export interface Usage {
  /** Whether anything is counted. If not, a search need not derive facts. */
  readonly isOpen: boolean
  record(event: UsageEvent, facts: Facts): void
  /** The records since the last report. The next report starts from zero. */
  report(): readonly UsageReport[]
}

/** Counts nothing, for instances without reports. */
export const closedUsage: Usage = { isOpen: false, record: () => undefined, report: () => [] }

/** Distinct words of one metric that are recorded. Clients choose some words, such as user agents. */
const WORDS_MAX = 100
/** Characters of a recorded word. */
const WORD_CHARS_MAX = 200

/** Milliseconds up to which each millisecond has a class of its own. Classes of longer times grow with the time. */
const EXACT_MS = 64

/** Combines the observations of one metric into a figure. */
interface Tally {
  add(observed: unknown): void
  figure(): Figure
}

/** Opens a counter. Its memory is bounded whatever clients send. */
export function openUsage(): Usage {
  let events = new Map<UsageEvent, { count: number; readonly tallies: Map<MetricName, Tally> }>()
  return {
    isOpen: true,
    record(event, facts) {
      let known = events.get(event)
      if (known === undefined) {
        known = { count: 0, tallies: new Map() }
        events.set(event, known)
      }
      known.count += 1
      for (const [name, observed] of Object.entries(facts) as [MetricName, unknown][]) {
        if (observed === undefined) continue
        let tally = known.tallies.get(name)
        if (tally === undefined) {
          tally = tallies[usageMetrics[name]]()
          known.tallies.set(name, tally)
        }
        tally.add(observed)
      }
    },
    report() {
      const reports = [...events].map(([event, { count, tallies }]) => ({
        event,
        count,
        figures: Object.fromEntries([...tallies].map(([name, tally]) => [name, tally.figure()])),
      }))
      events = new Map()
      return reports
    },
  }
}

const tallies: Readonly<Record<(typeof usageMetrics)[MetricName], () => Tally>> = {
  any: () => reduced<boolean>(false, (so, now) => so || now),
  sum: () => reduced<number>(0, (so, now) => so + now),
  max: () => reduced<number>(0, Math.max),
  last: () => reduced<Figure>(null, (_, now) => now),
  average() {
    let sum = 0
    let count = 0
    return {
      add(value) {
        sum += value as number
        count += 1
      },
      figure: () => sum / count,
    }
  },
  union() {
    const words = new Set<string>()
    return {
      add(more) {
        for (const word of more as readonly string[]) {
          if (words.size < WORDS_MAX) words.add(word.slice(0, WORD_CHARS_MAX))
        }
      },
      figure: () => [...words].sort(),
    }
  },
  most() {
    const counts = new Map<string, number>()
    return {
      add(word) {
        const text = word as string
        if (counts.has(text) || counts.size < WORDS_MAX) counts.set(text, (counts.get(text) ?? 0) + 1)
      },
      figure: () => [...counts].reduce((best, one) => (one[1] > best[1] ? one : best))[0],
    }
  },
  p99() {
    // Counts by class of duration, which are a few hundred numbers for any number of requests.
    const counts: number[] = []
    let total = 0
    return {
      add(ms) {
        const at = classOf(ms as number)
        counts[at] = (counts[at] ?? 0) + 1
        total += 1
      },
      figure() {
        let left = Math.max(1, Math.floor(total * 0.99))
        const at = counts.findIndex((count = 0) => {
          left -= count
          return left <= 0
        })
        return longestOf(at)
      },
    }
  },
}

function reduced<T extends Figure>(start: T, join: (so: T, now: T) => T): Tally {
  let value = start
  return {
    add(observed) {
      value = join(value, observed as T)
    },
    figure: () => value,
  }
}

/** Classes for each doubling of the duration. With 16 a figure is at most 5 % above the measured time. */
const CLASSES_PER_DOUBLING = 16

function classOf(ms: number): number {
  const whole = Math.ceil(Math.max(0, ms))
  if (whole <= EXACT_MS) return whole
  return EXACT_MS + Math.ceil(Math.log2(whole / EXACT_MS) * CLASSES_PER_DOUBLING)
}

function longestOf(at: number): number {
  if (at <= EXACT_MS) return at
  return Math.floor(EXACT_MS * 2 ** ((at - EXACT_MS) / CLASSES_PER_DOUBLING))
}
