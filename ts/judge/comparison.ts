import { meanOf } from './metrics.js'

/** Metrics of the hits of a query. */
export interface Score {
  readonly ndcg: number
  readonly recall: number
  readonly hits: number
}

/** A query whose nDCG differs between two rankings. */
interface Change {
  /** Position of the query in the list. */
  readonly at: number
  readonly before: number
  readonly after: number
}

/** Differences below this come from the order of additions. */
const TOLERANCE = 1e-9

/** Returns the queries that got worse and better, the largest changes first. */
export function changesOf(
  before: readonly Pick<Score, 'ndcg'>[],
  after: readonly Pick<Score, 'ndcg'>[],
): { readonly worse: readonly Change[]; readonly better: readonly Change[] } {
  const changes = before
    .map(({ ndcg }, at): Change => ({ at, before: ndcg, after: after[at]?.ndcg ?? 0 }))
    .filter((change) => Math.abs(change.after - change.before) > TOLERANCE)
    .sort((a, b) => a.after - a.before - (b.after - b.before) || a.at - b.at)
  return {
    worse: changes.filter((change) => change.after < change.before),
    better: changes.filter((change) => change.after > change.before).reverse(),
  }
}

/** Returns the means of a list of scores, and the number of queries without a hit. */
export const summaryOf = (
  scores: readonly Score[],
): { readonly ndcg: number; readonly recall: number; readonly empty: number } => ({
  ndcg: meanOf(scores.map(({ ndcg }) => ndcg)),
  recall: meanOf(scores.map(({ recall }) => recall)),
  empty: scores.filter(({ hits }) => hits === 0).length,
})
