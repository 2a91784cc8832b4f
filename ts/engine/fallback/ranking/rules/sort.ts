/**
 * Sorts documents by the values of a field.
 *
 * Source: search §9.
 * 1. In both directions: documents with a number first, then documents with only strings, then the rest.
 * 2. A document with several values is sorted by its best value.
 * 3. Each value is a bucket; the query is ignored.
 */
import type { Column } from '../../facets/columns.js'
import type { RankingRule } from '../rule.js'

/** A field and a direction. */
interface SortField {
  readonly field: string
  readonly ascending: boolean
}

/** A rule over a column. Without a column, all documents are equal. */
export function sortRule(column: Column | undefined, { field, ascending }: SortField): RankingRule {
  return function* (docids, graph) {
    const none = { rule: 'sort', field, ascending, value: null } as const
    if (column === undefined) {
      yield { docids, graph, detail: none }
      return
    }
    const best = bestGroups(column, docids, ascending)
    const ranks = column.ranks
    const order = Array.from(docids.keys()).filter((at) => best[at] !== -1)
    const key = (at: number): number => {
      const group = best[at]!
      const rank = ranks[group]!
      return ascending ? rank : (column.isNumber(group) ? 0 : column.groups) + column.groups - 1 - rank
    }
    const keys = Float64Array.from(docids.keys(), (at) => (best[at] === -1 ? Number.NaN : key(at)))
    order.sort((a, b) => keys[a]! - keys[b]! || a - b)
    for (let from = 0; from < order.length; ) {
      let to = from + 1
      while (to < order.length && keys[order[to]!] === keys[order[from]!]) to++
      const group = best[order[from]!]!
      const value = column.isNumber(group) ? column.numbers[group]! : column.forms[group]!
      yield {
        docids: Uint32Array.from(order.slice(from, to), (at) => docids[at]!),
        graph,
        detail: { rule: 'sort', field, ascending, value },
      }
      from = to
    }
    const rest = docids.filter((_, at) => best[at] === -1)
    if (rest.length > 0) yield { docids: rest, graph, detail: none }
  }
}

/** The best group of each document, -1 without a value. */
function bestGroups(column: Column, docids: Uint32Array, ascending: boolean): Int32Array {
  const ranks = column.ranks
  return Int32Array.from(docids, (docid) => {
    let best = -1
    for (const entry of column.entries(docid)) {
      const group = column.groupOf[entry]!
      if (best === -1) best = group
      else if (column.isNumber(group) !== column.isNumber(best)) best = column.isNumber(group) ? group : best
      else if (ascending ? ranks[group]! < ranks[best]! : ranks[group]! > ranks[best]!) best = group
    }
    return best
  })
}
