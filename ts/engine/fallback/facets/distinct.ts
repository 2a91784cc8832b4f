/**
 * Keeps one document per value of the distinct attribute.
 *
 * Source: search §11.
 * 1. Values are compared like in filters.
 * 2. Only kept documents exclude others. With the values A, (A B) and B, the first document excludes the second, and
 *    the third is kept.
 * 3. All documents without a value are kept.
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

  /** Returns true if this document was not kept and shares a value with a kept document. */
  excludes(docid: number): boolean {
    return !this.kept.has(docid) && this.shares(docid)
  }

  /** Keeps a document unless it is excluded. @returns true if it is kept */
  keep(docid: number): boolean {
    if (this.shares(docid)) return false
    this.kept.add(docid)
    for (const group of this.values(docid)) this.taken[group] = 1
    return true
  }

  private shares(docid: number): boolean {
    return this.values(docid).some((group) => this.taken[group] === 1)
  }

  private values(docid: number): readonly number[] {
    return this.column.entries(docid).map((entry) => this.column.equalGroup(this.column.groupOf[entry]!))
  }
}
