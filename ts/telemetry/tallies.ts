import type { usageEvents } from './events.js'
import { Words } from './words.js'

/** A figure of a report. */
export type Figure = boolean | number | string | null | readonly string[]

/** Combines the observations of one metric into a figure. */
export interface Tally {
  add(observed: unknown): void
  figure(): Figure
}

type Events = typeof usageEvents
type Kinds<E> = E extends { readonly metrics: infer M } ? M[keyof M] : never

/** Creates a tally by kind of metric. Without observations, its figure is a neutral value. */
export const tallies: Readonly<Record<Kinds<Events[keyof Events]>, () => Tally>> = {
  any: () => reduced<boolean>(false, (so, now) => so || now),
  sum: () => reduced<number>(0, (so, now) => so + now),
  max: () => reduced<number>(0, Math.max),
  last: () => reduced<Figure>(null, (_, now) => now),
  lastSet: () => reduced<Figure>(null, (so, now) => now ?? so),
  average() {
    let [sum, count] = [0, 0]
    return {
      add(value) {
        sum += value as number
        count += 1
      },
      figure: () => (count === 0 ? null : sum / count),
    }
  },
  union() {
    const words = new Words()
    return {
      add(more) {
        for (const word of more as readonly string[]) words.add(word)
      },
      figure: () => words.sorted(),
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
