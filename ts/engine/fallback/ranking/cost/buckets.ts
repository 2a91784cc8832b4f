/**
 * Groups documents into buckets by the cost of their cheapest reading.
 *
 * Shared by all rules with costs except `words`. Source: search §7.1.
 * 1. The cost of a document is that of its cheapest reading; bucket k contains all documents of cost k.
 * 2. Among readings of equal cost, the first in the order of successors claims the document.
 * 3. The next rule only sees the readings that claimed a document of the bucket.
 * 4. The rank counts down from the highest cost of any reading of the graph, matched or not.
 *
 * Search §7.1 claims documents reading by reading. Taking the cheapest reading of each document gives the same result:
 * within a sequence of nodes, only the cheapest alternatives can add up to the cheapest total.
 */
import { graphOfPaths } from '../../query/graph.js'
import type { Bucket, RankingRule, ScoreDetail } from '../rule.js'
import { type CostRule, NEVER } from './rule.js'
import { CostTable } from './table.js'

/**
 * A ranking rule that ranks documents by the costs of `rule`.
 * @param detailOf score detail of a bucket, from its cost and the highest cost `costMax` of any reading
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
            graph: graphOfPaths(table.paths(rows)),
            detail: detailOf(cost, table.costMax),
          }
    }
  }
}
