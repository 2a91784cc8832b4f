/**
 * Stores field values by docid.
 *
 * There is a column for each field that the settings need. Values are stored once in a dictionary: an *entry* is a
 * value in its original spelling, a *group* is a set of equal values (numbers by value, strings by `facetForm`).
 */

import { type FacetLeaf, facetForm } from '../fields/flatten.js'
import { DocSet } from '../store/docid-set.js'
import { ownText } from '../store/own-text.js'
import { compareUtf8 } from '../store/text-order.js'

/** Entries of a document: none, one, or several. */
export type Row = undefined | number | readonly number[]

/** The value change of a document in a column. */
export interface RowChange {
  readonly docid: number
  /** undefined: the document does not have the field (any more). */
  readonly leaf: FacetLeaf | undefined
}

/** Ranks of values that are in use, separately for numbers and strings. */
interface LiveRanks {
  readonly ofGroup: Uint32Array
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
  /** Minus zero is a value of its own in facets and sorting. As a key of a map it would be zero. */
  private minusZeroEntry: number | undefined
  private readonly stringEntries = new Map<string, number>()
  private readonly formGroups = new Map<string, number>()
  /** Entry → group. */
  readonly groupOf: number[]
  /** Entry → original spelling; empty for numbers. */
  readonly spelling: string[]
  /** Group → number, NaN for strings. */
  readonly numbers: number[]
  /** Group → comparable form, empty for numbers. */
  readonly forms: string[]
  private rows: Row[] = []
  private existing = new DocSet(0)
  private nulls = new DocSet(0)
  private empties = new DocSet(0)
  private ranked: Uint32Array | null = null
  private liveRanksCache: LiveRanks | null = null

  constructor(values: ColumnValues = { groupOf: [], spelling: [], numbers: [], forms: [] }) {
    this.groupOf = values.groupOf
    this.spelling = values.spelling
    this.numbers = values.numbers
    this.forms = values.forms
  }

  /**
   * Builds a column with entries numbered as in `entries`: numbers, or strings in their original spelling.
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

  /** A read-only copy that later changes do not affect. */
  copy(): Column {
    const { groupOf, spelling, numbers, forms } = this
    const copy = new Column({
      groupOf: groupOf.slice(),
      spelling: spelling.slice(),
      numbers: numbers.slice(),
      forms: forms.slice(),
    })
    copy.rows = this.rows.slice()
    // `apply` replaces the sets before changing them.
    ;[copy.existing, copy.nulls, copy.empties] = [this.existing, this.nulls, this.empties]
    return copy
  }

  /** Replaces the values of documents. @param bound exclusive upper bound of docids */
  apply(changes: readonly RowChange[], bound: number): void {
    this.liveRanksCache = null
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
      // Order by last occurrence: of several spellings, the last is displayed.
      entries.delete(entry)
      entries.add(entry)
    }
    if (entries.size === 0) return undefined
    return entries.size === 1 ? [...entries][0] : [...entries]
  }

  private numberEntry(sent: number): number {
    const isMinusZero = Object.is(sent, -0)
    const known = isMinusZero ? this.minusZeroEntry : this.numberEntries.get(sent)
    if (known !== undefined) return known
    const entry = this.newEntry(this.newGroup(sent, ''), '')
    if (isMinusZero) this.minusZeroEntry = entry
    else this.numberEntries.set(sent, entry)
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

  /** Exclusive upper bound of docids with values. */
  get bound(): number {
    return this.rows.length
  }

  /** Documents with any value, including null and empty values, or with a nested field. */
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

  /** Groups of this number, if a document ever had it: two for zero, which equals minus zero. */
  groupsOfNumber(value: number): readonly number[] {
    const entries = [this.numberEntries.get(value), value === 0 ? this.minusZeroEntry : undefined]
    return entries.flatMap((entry) => (entry === undefined ? [] : [this.groupOf[entry]!]))
  }

  /** The group whose value equals that of `group`: the same for minus zero and zero. */
  equalGroup(group: number): number {
    return this.numbers[group] === 0 ? this.groupsOfNumber(0)[0]! : group
  }

  /** Group of this form, if a document ever had it. */
  groupOfForm(form: string): number | undefined {
    return this.formGroups.get(form)
  }

  /** Group → rank: numbers ascending, then strings by their UTF-8 bytes. */
  get ranks(): Uint32Array {
    if (this.ranked === null) {
      const order = Array.from(this.numbers.keys()).sort((a, b) => this.compare(a, b))
      this.ranked = new Uint32Array(order.length)
      for (const [rank, group] of order.entries()) this.ranked[group] = rank
    }
    return this.ranked
  }

  /**
   * Group → rank among the numbers, or among the strings, that a document has, and how many numbers and strings these
   * are. Groups without a document have no valid rank.
   */
  get liveRanks(): LiveRanks {
    this.liveRanksCache ??= this.computeLiveRanks()
    return this.liveRanksCache
  }

  private computeLiveRanks(): LiveRanks {
    const used = new Uint8Array(this.groups)
    for (const row of this.rows) {
      if (row === undefined) continue
      if (typeof row === 'number') used[this.groupOf[row]!] = 1
      else for (const entry of row) used[this.groupOf[entry]!] = 1
    }
    const ordered = new Uint32Array(this.groups)
    for (const [group, rank] of this.ranks.entries()) ordered[rank] = group
    const ofGroup = new Uint32Array(this.groups)
    let [numbers, strings] = [0, 0]
    for (const group of ordered) {
      if (used[group] === 0) continue
      ofGroup[group] = this.isNumber(group) ? numbers++ : strings++
    }
    return { ofGroup, numbers, strings }
  }

  private compare(a: number, b: number): number {
    const [left, right] = [this.isNumber(a), this.isNumber(b)]
    if (left !== right) return left ? -1 : 1
    if (!left) return compareUtf8(this.forms[a]!, this.forms[b]!)
    return (
      this.numbers[a]! - this.numbers[b]! ||
      Number(Object.is(this.numbers[b], -0)) - Number(Object.is(this.numbers[a], -0))
    )
  }

  /** Documents with at least one of the groups flagged in `wanted` (indexed by group). */
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
