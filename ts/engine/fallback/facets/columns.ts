/**
 * Here is a docid, which values has it?
 *
 * One column per field that settings ask for. Values are kept once in a dictionary: an *entry* is a value as
 * it was spelled, a *group* is what counts as equal (numbers by value, strings by `facetForm`).
 */

import { type FacetLeaf, facetForm } from '../fields/flatten.js'
import { DocSet } from '../store/docid-set.js'
import { ownText } from '../store/own-text.js'
import { compareUtf8 } from '../store/text-order.js'

/** Entries of one document: none, one, or several. */
export type Row = undefined | number | readonly number[]

/** What a document puts into a column. */
export interface RowChange {
  readonly docid: number
  /** undefined: the document has no such field (any more). */
  readonly leaf: FacetLeaf | undefined
}

/** Where values stand among those of their kind. */
export interface ValuePlaces {
  readonly of: Uint32Array
  readonly numbers: number
  readonly strings: number
}

/** The dictionary of a column. */
interface ColumnValues {
  readonly groupOf: number[]
  readonly spelling: string[]
  readonly numbers: number[]
  readonly forms: string[]
}

export class Column {
  private readonly numberEntries = new Map<number, number>()
  private readonly stringEntries = new Map<string, number>()
  private readonly formGroups = new Map<string, number>()
  /** Entry → its group. */
  readonly groupOf: number[]
  /** Entry → the value as it was spelled; empty for numbers. */
  readonly spelling: string[]
  /** Group → the number, NaN for strings. */
  readonly numbers: number[]
  /** Group → the comparable form, empty for numbers. */
  readonly forms: string[]
  private rows: Row[] = []
  private existing = new DocSet(0)
  private nulls = new DocSet(0)
  private empties = new DocSet(0)
  private ranked: Uint32Array | null = null
  private placed: ValuePlaces | null = null

  constructor(values: ColumnValues = { groupOf: [], spelling: [], numbers: [], forms: [] }) {
    this.groupOf = values.groupOf
    this.spelling = values.spelling
    this.numbers = values.numbers
    this.forms = values.forms
  }

  /**
   * A column whose entries are numbered as in `entries`: numbers, or strings as they were spelled.
   * @param sets documents where the field exists, is null, is empty
   */
  static from(
    entries: readonly (number | string)[],
    rows: Row[],
    sets: readonly [exists: DocSet, isNull: DocSet, isEmpty: DocSet],
  ): Column {
    const column = new Column()
    for (const value of entries)
      if (typeof value === 'number') column.numberEntry(value)
      else column.stringEntry(value, facetForm(value))
    column.rows = rows
    ;[column.existing, column.nulls, column.empties] = sets
    return column
  }

  /** A column that stays as this one is now, for reading. */
  copy(): Column {
    const { groupOf, spelling, numbers, forms } = this
    const copy = new Column({
      groupOf: groupOf.slice(),
      spelling: spelling.slice(),
      numbers: numbers.slice(),
      forms: forms.slice(),
    })
    copy.rows = this.rows.slice()
    // `apply` replaces the sets before it marks them.
    ;[copy.existing, copy.nulls, copy.empties] = [this.existing, this.nulls, this.empties]
    return copy
  }

  /** Puts values in place of those that documents had before. `bound`: docids are below it. */
  apply(changes: readonly RowChange[], bound: number): void {
    this.placed = null
    this.existing = this.existing.resized(bound)
    this.nulls = this.nulls.resized(bound)
    this.empties = this.empties.resized(bound)
    for (const { docid, leaf } of changes) {
      this.rows[docid] = leaf === undefined ? undefined : this.row(leaf)
      mark(this.existing, docid, leaf !== undefined)
      mark(this.nulls, docid, leaf?.isNull === true)
      mark(this.empties, docid, leaf?.isEmpty === true)
    }
  }

  private row(leaf: FacetLeaf): Row {
    const entries = new Set<number>()
    for (const value of leaf.numbers) entries.add(this.numberEntry(value))
    for (const value of leaf.strings) {
      const form = facetForm(value)
      if (form === '') continue
      const entry = this.stringEntry(value, form)
      // In the order of their last places: of several spellings the last one is shown.
      entries.delete(entry)
      entries.add(entry)
    }
    if (entries.size === 0) return undefined
    return entries.size === 1 ? [...entries][0] : [...entries]
  }

  private numberEntry(sent: number): number {
    const value = sent === 0 ? 0 : sent
    const known = this.numberEntries.get(value)
    if (known !== undefined) return known
    const entry = this.newEntry(this.newGroup(value, ''), '')
    this.numberEntries.set(value, entry)
    return entry
  }

  private stringEntry(sent: string, form: string): number {
    const known = this.stringEntries.get(sent)
    if (known !== undefined) return known
    const spelling = ownText(sent)
    let group = this.formGroups.get(form)
    if (group === undefined) {
      const own = form === spelling ? spelling : ownText(form)
      group = this.newGroup(Number.NaN, own)
      this.formGroups.set(own, group)
    }
    const entry = this.newEntry(group, spelling)
    this.stringEntries.set(spelling, entry)
    return entry
  }

  private newGroup(value: number, form: string): number {
    this.numbers.push(value)
    this.forms.push(form)
    this.ranked = null
    return this.numbers.length - 1
  }

  private newEntry(group: number, spelling: string): number {
    this.groupOf.push(group)
    this.spelling.push(spelling)
    return this.groupOf.length - 1
  }

  /** Entries of a document. */
  entries(docid: number): readonly number[] {
    const row = this.rows[docid]
    return row === undefined ? [] : typeof row === 'number' ? [row] : row
  }

  /** The raw row, for loops that must not allocate. */
  at(docid: number): Row {
    return this.rows[docid]
  }

  /** Docids below this may have values. */
  get bound(): number {
    return this.rows.length
  }

  /** Documents with any value, null and empty ones included, or with a field below this one. */
  get exists(): DocSet {
    return this.existing
  }

  get isNull(): DocSet {
    return this.nulls
  }

  get isEmpty(): DocSet {
    return this.empties
  }

  get groups(): number {
    return this.numbers.length
  }

  isNumber(group: number): boolean {
    return this.forms[group] === ''
  }

  /** Group with this number or form, if any document ever had one. */
  groupOfNumber(value: number): number | undefined {
    const entry = this.numberEntries.get(value)
    return entry === undefined ? undefined : this.groupOf[entry]
  }

  groupOfForm(form: string): number | undefined {
    return this.formGroups.get(form)
  }

  /** Group → rank: numbers ascending, then strings by their bytes. */
  get ranks(): Uint32Array {
    if (this.ranked === null) {
      const order = Array.from(this.numbers.keys()).sort((a, b) => this.compare(a, b))
      this.ranked = new Uint32Array(order.length)
      for (const [rank, group] of order.entries()) this.ranked[group] = rank
    }
    return this.ranked
  }

  /**
   * Group → its place among the numbers, or among the strings, that some document has; and how many of
   * either there are. Groups that no document has any more have no place of their own.
   */
  get places(): ValuePlaces {
    this.placed ??= this.placesNow()
    return this.placed
  }

  private placesNow(): ValuePlaces {
    const used = new Uint8Array(this.groups)
    for (const row of this.rows) {
      if (row === undefined) continue
      if (typeof row === 'number') used[this.groupOf[row]!] = 1
      else for (const entry of row) used[this.groupOf[entry]!] = 1
    }
    const ordered = new Uint32Array(this.groups)
    for (const [group, rank] of this.ranks.entries()) ordered[rank] = group
    const of = new Uint32Array(this.groups)
    let [numbers, strings] = [0, 0]
    for (const group of ordered) {
      if (used[group] === 0) continue
      of[group] = this.isNumber(group) ? numbers++ : strings++
    }
    return { of, numbers, strings }
  }

  private compare(a: number, b: number): number {
    const [left, right] = [this.isNumber(a), this.isNumber(b)]
    if (left !== right) return left ? -1 : 1
    return left ? this.numbers[a]! - this.numbers[b]! : compareUtf8(this.forms[a]!, this.forms[b]!)
  }

  /** Documents that hold at least one of the groups flagged in `wanted` (indexed by group). */
  documentsWith(wanted: Uint8Array): DocSet {
    const found = new DocSet(this.bound)
    for (let docid = 0; docid < this.rows.length; docid++) {
      const row = this.rows[docid]
      if (row === undefined) continue
      if (typeof row === 'number') {
        if (wanted[this.groupOf[row]!] === 1) found.add(docid)
      } else if (row.some((entry) => wanted[this.groupOf[entry]!] === 1)) found.add(docid)
    }
    return found
  }
}

function mark(set: DocSet, docid: number, present: boolean): void {
  if (present) set.add(docid)
  else set.delete(docid)
}
