/** nDCG@10 and recall@50, as `siftd judge` computes them (`ts/judge/metrics.ts`). */

/** Hits that nDCG reads. */
export const NDCG_DEPTH = 10
/** Hits that recall reads. */
export const RECALL_DEPTH = 50

/** Grades by document id; 0: not relevant. */
export type Grades = ReadonlyMap<string, number>

const gainOf = (grade: number): number => 2 ** grade - 1
const discountOf = (position: number): number => 1 / Math.log2(position + 2)

const gains = (grades: readonly number[]): number =>
  grades.slice(0, NDCG_DEPTH).reduce((sum, grade, position) => sum + gainOf(grade) * discountOf(position), 0)

/** Returns 0 to 1. @param ids of the hits in their order */
export function ndcg(ids: readonly string[], grades: Grades): number {
  const ideal = gains([...grades.values()].sort((a, b) => b - a))
  return ideal === 0 ? 0 : gains(ids.map((id) => grades.get(id) ?? 0)) / ideal
}

/** Returns the share of the relevant documents among the first hits. */
export function recall(ids: readonly string[], grades: Grades): number {
  const relevant = [...grades.values()].filter((grade) => grade > 0).length
  const found = ids.slice(0, RECALL_DEPTH).filter((id) => (grades.get(id) ?? 0) > 0).length
  return relevant === 0 ? 0 : found / relevant
}

/** Returns the document whose position lowers nDCG most; null if the order is the best one. */
export function costliest(ids: readonly string[], grades: Grades): string | null {
  const ideal = [...grades].sort(([, a], [, b]) => b - a)
  let worst: { readonly id: string; readonly loss: number } | null = null
  for (const [best, [id, grade]] of ideal.slice(0, NDCG_DEPTH).entries()) {
    const position = ids.slice(0, NDCG_DEPTH).indexOf(id)
    const loss = gainOf(grade) * (discountOf(best) - (position === -1 ? 0 : discountOf(position)))
    if (loss > (worst?.loss ?? 0)) worst = { id, loss }
  }
  return worst?.id ?? null
}
