/** Search for better settings, with figures on queries that the search did not see. */
import { type Candidate, movesOf, startingCandidates } from './candidates.js'
import { GAIN_MIN } from './limits.js'
import { meanOf } from './metrics.js'

interface TuningTask {
  /** The settings of the index. */
  readonly now: Candidate
  /** Attributes whose weights may change. */
  readonly attributes: readonly string[]
  /** Number of judged queries, at least `folds`. */
  readonly queries: number
  /** Parts of the queries, at least 2. Each is left out once. */
  readonly folds: number
  readonly seed: number
  /** Most settings to measure. */
  readonly triesMax: number
  /** Returns the nDCG of every query under the settings. */
  readonly measure: (candidate: Candidate) => Promise<readonly number[]>
  readonly progress: (tried: number) => void
}

interface Tuned {
  /** Found on all queries. */
  readonly found: Candidate
  /** Number of settings that were measured. */
  readonly tried: number
  /** Mean nDCG of all queries, before and with the found settings. The search saw them, so it is too high. */
  readonly seen: Figures
  /** The same where each query is ranked by settings that were found without its part. */
  readonly unseen: Figures
}

interface Figures {
  readonly before: number
  readonly after: number
}

/**
 * Searches settings by hill climbing from several starting points, once without each part of the queries and once with
 * all. The same seed, queries and settings give the same result.
 */
export async function tune(task: TuningTask): Promise<Tuned> {
  const { now, queries, folds, seed, triesMax, progress } = task
  const known = new Map<string, readonly number[]>()
  const share = Math.max(1, Math.floor(triesMax / (folds + 1)))
  const climb = (train: readonly number[], triesAllowed: number): Promise<Candidate> => {
    const limit = known.size + triesAllowed
    return climbed(task, train, async (candidate) => {
      const name = nameOf(candidate)
      const before = known.get(name)
      if (before !== undefined) return before
      if (known.size >= limit) return null
      const scores = await task.measure(candidate)
      known.set(name, scores)
      progress(known.size)
      return scores
    })
  }
  const parts = foldsOf(queries, folds, seed)
  const after: number[] = []
  for (const part of parts) {
    const left = new Set(part)
    const found = await climb(
      [...Array(queries).keys()].filter((at) => !left.has(at)),
      share,
    )
    for (const at of part) after[at] = known.get(nameOf(found))![at]!
  }
  const found = await climb([...Array(queries).keys()], Math.max(share, triesMax - known.size))
  const before = meanOf(known.get(nameOf(now))!)
  return {
    found,
    tried: known.size,
    seen: { before, after: meanOf(known.get(nameOf(found))!) },
    unseen: { before, after: meanOf(after) },
  }
}

const nameOf = ({ attributeWeights, ...others }: Candidate): string =>
  JSON.stringify([
    others,
    // A weight of 1 is the default.
    Object.entries(attributeWeights)
      .filter(([, weight]) => weight !== 1)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  ])

/** @param scoresOf null: no more settings may be measured */
async function climbed(
  { now, attributes }: Pick<TuningTask, 'now' | 'attributes'>,
  train: readonly number[],
  scoresOf: (candidate: Candidate) => Promise<readonly number[] | null>,
): Promise<Candidate> {
  const scored = async (candidate: Candidate): Promise<number> => {
    const scores = await scoresOf(candidate)
    return scores === null ? Number.NEGATIVE_INFINITY : meanOf(train.map((at) => scores[at]!))
  }
  let [best, score] = [now, await scored(now)]
  const accept = async (next: Candidate | null): Promise<boolean> => {
    if (next === null) return false
    const reached = await scored(next)
    if (reached < score + GAIN_MIN) return false
    ;[best, score] = [next, reached]
    return true
  }
  for (const start of startingCandidates(now)) await accept(start)
  const moves = movesOf(attributes, best.rankingRules.length)
  for (let isBetter = true; isBetter; ) {
    isBetter = false
    for (const move of moves) while (await accept(move(best))) isBetter = true
  }
  return best
}

/** Divides the positions of `count` queries at random into parts of about the same size. */
export function foldsOf(count: number, folds: number, seed: number): readonly (readonly number[])[] {
  const random = randomFrom(seed)
  const order = [...Array(count).keys()]
  for (let at = count - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1))
    ;[order[at], order[other]] = [order[other]!, order[at]!]
  }
  return Array.from({ length: folds }, (_, fold) => order.filter((_, at) => at % folds === fold))
}

/** Numbers from 0 to below 1: a linear congruential generator with the constants of Numerical Recipes. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}
