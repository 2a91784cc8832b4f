/**
 * Which documents have a value that a better one had before?
 *
 * Source: search §11.
 *  1. One document is kept per value; values are equal as filters have it.
 *  2. Only documents that were kept exclude others: with values A, (A B), B the second one falls to the first,
 *     and the third stays.
 *  3. Documents without a value are all kept.
 */
import type { Column } from './columns.js'

/** Keeps one document per value. */
export class Distinct {
  private readonly column: Column
  private readonly taken: Uint8Array
  private readonly kept = new Set<number>()

  constructor(column: Column) {
    this.column = column
    this.taken = new Uint8Array(column.groups)
  }

  /** Whether a kept document shares a value with this one, which was not kept itself. */
  excludes(docid: number): boolean {
    return !this.kept.has(docid) && this.shares(docid)
  }

  /** Keeps a document unless it is excluded. @returns whether it is kept */
  keep(docid: number): boolean {
    if (this.shares(docid)) return false
    this.kept.add(docid)
    for (const entry of this.column.entries(docid)) this.taken[this.column.groupOf[entry]!] = 1
    return true
  }

  private shares(docid: number): boolean {
    return this.column.entries(docid).some((entry) => this.taken[this.column.groupOf[entry]!] === 1)
  }
}
