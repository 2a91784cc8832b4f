/**
 * Here is a cost per reading step and document: which documents come first, by which readings?
 *
 * All rules that charge for reading steps but `words` share this. Source: search §7.1.
 *  1. A document stands at the cost of its cheapest reading; bucket k holds all documents of cost k.
 *  2. Among readings of one cost, the one found first by walking successors in node order claims it.
 *  3. The next rule sees the readings that claimed a document of the bucket, and no others.
 *  4. The rank counts down from the dearest reading that the graph has, satisfied or not.
 *
 * Claiming reading by reading, as search §7.1 tells it, and taking each document's cheapest reading come to the
 * same: within one sequence of nodes only the cheapest alternatives can add up to the cheapest total.
 */
import { graphFromPaths } from '../../query/graph.js'
import type { Bucket, RankingRule, ScoreDetail } from '../rule.js'
import { type CostRule, NEVER } from './rule.js'
import { CostTable } from './table.js'

/**
 * The ranking rule that orders documents by what `rule` charges them.
 * @param detailOf what the bucket of a cost says, where the dearest reading costs `costMax`
 */
export function rankByCost(
  rule: CostRule,
  detailOf: (cost: number, costMax: number) => ScoreDetail,
): RankingRule {
  return function* (docids, graph) {
    if (graph === null) return
    const table = new CostTable(rule, graph, docids)
    yield* table.work()
    const byCost = new Map<number, number[]>()
    for (let at = 0; at < docids.length; at++) {
      const cost = table.totals[at]!
      const list = byCost.get(cost)
      if (list === undefined) byCost.set(cost, [at])
      else list.push(at)
    }
    const costs = [...byCost.keys()].sort((a, b) => a - b)
    for (const cost of costs) {
      const rows = byCost.get(cost)!
      const bucket = Uint32Array.from(rows, (at) => docids[at]!)
      yield cost >= NEVER
        ? ({ docids: bucket, graph, detail: detailOf(table.costMax, table.costMax) } satisfies Bucket)
        : {
            docids: bucket,
            graph: graphFromPaths(table.paths(rows)),
            detail: detailOf(cost, table.costMax),
          }
    }
  }
}
