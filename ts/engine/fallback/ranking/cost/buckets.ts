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
    for (const { cost, rows } of rowsByCost(table.totals)) {
      const bucket = rows.length === docids.length ? docids : picked(docids, rows)
      yield cost === NEVER
        ? ({ docids: bucket, graph, detail: detailOf(table.costMax, table.costMax) } satisfies Bucket)
        : {
            docids: bucket,
            graph: graphOfPaths(table.paths(rows)),
            detail: detailOf(cost, table.costMax),
          }
    }
  }
}

function picked(docids: Uint32Array, rows: Uint32Array): Uint32Array {
  const chosen = new Uint32Array(rows.length)
  for (let at = 0; at < rows.length; at++) chosen[at] = docids[rows[at]!]!
  return chosen
}

/** Yields the rows of each cost, lowest cost first; rows ascend. A counting sort. */
function* rowsByCost(totals: Uint16Array): Generator<{ readonly cost: number; readonly rows: Uint32Array }> {
  const rows = new Uint32Array(totals.length)
  let [least, most, matched] = [NEVER, 0, 0]
  for (let row = 0; row < totals.length; row++) {
    const total = totals[row]!
    rows[row] = row
    if (total === NEVER) continue
    matched++
    if (total < least) least = total
    if (total > most) most = total
  }
  if (matched === 0 || (matched === rows.length && least === most)) {
    if (rows.length > 0) yield { cost: least, rows }
    return
  }
  // The last slot is for documents that no reading matches.
  const never = most - least + 1
  const starts = new Uint32Array(never + 2)
  for (let row = 0; row < totals.length; row++) {
    const after = 1 + (totals[row] === NEVER ? never : totals[row]! - least)
    starts[after] = starts[after]! + 1
  }
  for (let slot = 0; slot <= never; slot++) starts[slot + 1] = starts[slot + 1]! + starts[slot]!
  const next = starts.slice()
  for (let row = 0; row < totals.length; row++) {
    const slot = totals[row] === NEVER ? never : totals[row]! - least
    rows[next[slot]!] = row
    next[slot] = next[slot]! + 1
  }
  for (let slot = 0; slot <= never; slot++)
    if (starts[slot]! < starts[slot + 1]!)
      yield {
        cost: slot === never ? NEVER : least + slot,
        rows: rows.subarray(starts[slot], starts[slot + 1]),
      }
}
