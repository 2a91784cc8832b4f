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
    for (const { group, docids: equal } of byGroup(column, docids, best, ascending)) {
      const value = column.isNumber(group) ? column.numbers[group]! : column.forms[group]!
      yield { docids: equal, graph, detail: { rule: 'sort', field, ascending, value } }
    }
    const rest = docids.filter((_, at) => best[at] === NO_GROUP)
    if (rest.length > 0) yield { docids: rest, graph, detail: none }
  }
}

const NO_GROUP = -1

/** The best group of each document, `NO_GROUP` without a value. */
function bestGroups(column: Column, docids: Uint32Array, ascending: boolean): Int32Array {
  const ranks = column.ranks
  const best = new Int32Array(docids.length).fill(NO_GROUP)
  for (let at = 0; at < docids.length; at++) {
    const row = column.at(docids[at]!)
    if (row === undefined) continue
    if (typeof row === 'number') best[at] = column.groupOf[row]!
    else best[at] = bestOf(column, row, ranks, ascending)
  }
  return best
}

function bestOf(column: Column, entries: readonly number[], ranks: Uint32Array, ascending: boolean): number {
  let best = NO_GROUP
  for (const entry of entries) {
    const group = column.groupOf[entry]!
    if (best === NO_GROUP) best = group
    else if (column.isNumber(group) !== column.isNumber(best)) best = column.isNumber(group) ? group : best
    else if (ascending ? ranks[group]! < ranks[best]! : ranks[group]! > ranks[best]!) best = group
  }
  return best
}

/**
 * Yields the documents of each group in the order of the groups. Documents keep their order.
 * @param best group of each document
 */
function* byGroup(
  column: Column,
  docids: Uint32Array,
  best: Int32Array,
  ascending: boolean,
): Generator<{ readonly group: number; readonly docids: Uint32Array }> {
  // Slots number the groups of these documents, which may be few of a large column.
  const slots = new Map<number, number>()
  const slotOf = new Int32Array(docids.length)
  for (let at = 0; at < docids.length; at++) {
    const group = best[at]!
    let slot = slots.get(group)
    if (slot === undefined) {
      slot = slots.size
      slots.set(group, slot)
    }
    slotOf[at] = slot
  }
  const ends = new Uint32Array(slots.size + 1)
  for (let at = 0; at < docids.length; at++) ends[slotOf[at]! + 1] = ends[slotOf[at]! + 1]! + 1
  for (let slot = 0; slot < slots.size; slot++) ends[slot + 1] = ends[slot + 1]! + ends[slot]!
  const grouped = new Uint32Array(docids.length)
  const next = ends.slice()
  for (let at = 0; at < docids.length; at++) {
    const slot = slotOf[at]!
    grouped[next[slot]!] = docids[at]!
    next[slot] = next[slot]! + 1
  }
  for (const group of inOrder(column, [...slots.keys()], ascending)) {
    const slot = slots.get(group)!
    yield { group, docids: grouped.subarray(ends[slot], ends[slot + 1]) }
  }
}

/** Sorts groups: numbers first in both directions. `NO_GROUP` is left out. */
function inOrder(column: Column, groups: readonly number[], ascending: boolean): number[] {
  const ranks = column.ranks
  const keyOf = (group: number): number =>
    ascending
      ? ranks[group]!
      : (column.isNumber(group) ? 0 : column.groups) + column.groups - 1 - ranks[group]!
  const found = groups.filter((group) => group !== NO_GROUP)
  // Numbers are sorted natively, so a key carries the place of its group.
  const keys = Float64Array.from(found, (group, at) => keyOf(group) * found.length + at).sort()
  return Array.from(keys, (key) => found[key % found.length]!)
}
