/** Metrics of a ranking, given the grades of documents. Documents without a grade count as not relevant. */

/** Grades by document id; 0: not relevant. */
type Grades = ReadonlyMap<string, number>

/** Hits that nDCG reads. */
export const NDCG_DEPTH = 10
/** Hits that recall reads. */
export const RECALL_DEPTH = 50

const gainOf = (grade: number): number => 2 ** grade - 1
const discountOf = (position: number): number => 1 / Math.log2(position + 2)

const gains = (grades: readonly number[]): number =>
  grades.reduce((sum, grade, position) => sum + gainOf(grade) * discountOf(position), 0)

/** Returns the ids in the best possible order. Equal grades keep their order. */
export const idealOrder = (grades: Grades): readonly string[] =>
  [...grades].sort(([, a], [, b]) => b - a).map(([id]) => id)

/**
 * Normalised discounted cumulative gain: gains 2^grade − 1, divided by log2(position + 2), position from 0.
 * @param ids of the hits in their order
 * @returns 0 to 1; 0 if no document is relevant
 */
export function ndcg(ids: readonly string[], grades: Grades): number {
  const gradesOf = (order: readonly string[]): number[] =>
    order.slice(0, NDCG_DEPTH).map((id) => grades.get(id) ?? 0)
  const ideal = gains(gradesOf(idealOrder(grades)))
  return ideal === 0 ? 0 : gains(gradesOf(ids)) / ideal
}

/** Returns the share of the relevant documents among the first hits, 0 to 1; 0 if no document is relevant. */
export function recall(ids: readonly string[], grades: Grades): number {
  const relevant = [...grades.values()].filter((grade) => grade > 0).length
  const found = ids.slice(0, RECALL_DEPTH).filter((id) => (grades.get(id) ?? 0) > 0).length
  return relevant === 0 ? 0 : found / relevant
}

/** Returns the mean of numbers; 0 for none. */
export const meanOf = (values: readonly number[]): number =>
  values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length

/**
 * Returns the document that costs the second order most, compared with the first one.
 * @returns null if no document lost
 */
export function largestLoss(
  before: readonly string[],
  after: readonly string[],
  grades: Grades,
): string | null {
  const [earlier, later] = [discounts(before), discounts(after)]
  let worst: { readonly id: string; readonly loss: number } | null = null
  for (const [id, grade] of grades) {
    const loss = gainOf(grade) * ((earlier.get(id) ?? 0) - (later.get(id) ?? 0))
    if (loss > (worst?.loss ?? 0)) worst = { id, loss }
  }
  return worst?.id ?? null
}

const discounts = (ids: readonly string[]): ReadonlyMap<string, number> =>
  new Map(ids.slice(0, NDCG_DEPTH).map((id, position) => [id, discountOf(position)]))
