import { bytes, number, type Row, type Sql, type Value } from '../../sqlite/index.js'
import { CHUNK_UIDS, edited, UidSet } from './uid-set.js'

/**
 * Properties that have stored sets. For tasks: `status`, `type`, `index` (its uid), `renamed` (the second name of a
 * rename), `era` and `endEra` (see `Membership.ended`). For batches: `batch` (all batches, with value '');
 * `batchStatus`, `batchType`, `batchIndex` and `batchRenamed` (a task of the batch has it); `oldest` and `newest`
 * (arrival spans); `ended` (spans of the order of ends).
 */
export type SetKind =
  | 'status'
  | 'type'
  | 'index'
  | 'renamed'
  | 'era'
  | 'endEra'
  | 'batch'
  | 'batchStatus'
  | 'batchType'
  | 'batchIndex'
  | 'batchRenamed'
  | 'oldest'
  | 'newest'
  | 'ended'

type SetValue = string | number

/**
 * Tasks per arrival span. Batches are found by the arrival spans of their oldest and newest task. Dates are compared
 * only for batches in the spans at a bound.
 */
const ARRIVAL_SPAN = 2_048

/** Returns the arrival span of a task. */
export const arrivalSpan = (uid: number) => Math.floor(uid / ARRIVAL_SPAN)

/** Batches per span of the order of ends; see `ARRIVAL_SPAN`. */
const ENDING_SPAN = 2_048

/** Returns the span of a position in the order of ends. */
export const endingSpan = (ended: number) => Math.floor(ended / ENDING_SPAN)

/** Returns the first position of a span. */
export const firstOfSpan = (span: number) => span * ENDING_SPAN

interface Change {
  readonly kind: SetKind
  readonly value: SetValue
  readonly uids: readonly number[]
  readonly isAddition: boolean
}

/**
 * The stored sets: uids of tasks and batches with a property. Changes are collected and written at the end of a
 * transaction, so that each chunk is written once. Reads include collected changes.
 */
export class UidSets {
  readonly #sql: Sql
  #changes: Change[] = []

  constructor(sql: Sql) {
    this.#sql = sql
  }

  add(kind: SetKind, value: SetValue, uids: readonly number[]): void {
    if (uids.length > 0) this.#changes.push({ kind, value, uids, isAddition: true })
  }

  remove(kind: SetKind, value: SetValue, uids: readonly number[]): void {
    if (uids.length > 0) this.#changes.push({ kind, value, uids, isAddition: false })
  }

  /** The current position in the collected changes, for `undo`. */
  get mark(): number {
    return this.#changes.length
  }

  /** Drops the changes collected since that position. */
  undo(mark: number): void {
    this.#changes.length = mark
  }

  /** Writes the collected changes. */
  flush(): void {
    const changes = this.#changes
    this.#changes = []
    const grouped = new Map<string, Change[]>()
    for (const change of changes) {
      const key = `${change.kind} ${change.value}`
      const group = grouped.get(key)
      if (group === undefined) grouped.set(key, [change])
      else group.push(change)
    }
    for (const group of grouped.values()) this.#write(group)
  }

  /** Returns the members of any of these sets. */
  load(kind: SetKind, values: readonly SetValue[]): UidSet {
    const set = new UidSet()
    if (values.length === 0) return set
    const { sql, parameters } =
      values.length === 1
        ? { sql: '= ?', parameters: [values[0] ?? null] }
        : { sql: 'IN (SELECT value FROM json_each(?))', parameters: [JSON.stringify(values)] }
    this.#read(set, `value ${sql}`, [kind, ...parameters])
    const wanted = new Set(values)
    return this.#changed(set, kind, (value) => wanted.has(value))
  }

  /** Returns the members of the sets whose values are in `[from, to)`. */
  loadRange(kind: SetKind, from: SetValue, to: SetValue): UidSet {
    const set = new UidSet()
    this.#read(set, 'value >= ? AND value < ?', [kind, from, to])
    return this.#changed(set, kind, (value) => value >= from && value < to)
  }

  /** Returns the values of all sets of a kind, ascending. */
  values(kind: SetKind): readonly Value[] {
    return this.#sql
      .all('SELECT DISTINCT value FROM sets WHERE kind = ? ORDER BY value', [kind])
      .map(({ value }) => value ?? null)
  }

  /** Returns the number of members of each set of a kind, without collected changes. */
  counts(kind: SetKind): ReadonlyMap<string, number> {
    const rows = this.#sql.all('SELECT value, sum(n) AS n FROM sets WHERE kind = ? GROUP BY value', [kind])
    return new Map(rows.map(({ value, n }) => [String(value), number(n)]))
  }

  /** Returns the number of members of all sets of a kind, without collected changes. */
  count(kind: SetKind): number {
    return this.#sql.number('SELECT ifnull(sum(n), 0) AS n FROM sets WHERE kind = ?', 'n', [kind])
  }

  #read(set: UidSet, condition: string, parameters: readonly Value[]): void {
    const rows = this.#sql.all(`SELECT chunk, members FROM sets WHERE kind = ? AND ${condition}`, parameters)
    for (const row of rows) set.addStored(number(row.chunk), bytes(row.members))
  }

  #changed(set: UidSet, kind: SetKind, isWanted: (value: SetValue) => boolean): UidSet {
    for (const change of this.#changes) {
      if (change.kind !== kind || !isWanted(change.value)) continue
      for (const uid of change.uids) {
        if (change.isAddition) set.add(uid)
        else set.delete(uid)
      }
    }
    return set
  }

  #write(changes: readonly Change[]): void {
    const [first] = changes
    if (first === undefined) return
    const edits = new Map<number, Map<number, boolean>>()
    for (const { uids, isAddition } of changes) {
      for (const uid of uids) {
        const chunk = Math.floor(uid / CHUNK_UIDS)
        const known = edits.get(chunk) ?? new Map<number, boolean>()
        edits.set(chunk, known.set(uid % CHUNK_UIDS, isAddition))
      }
    }
    for (const [chunk, edit] of edits) this.#edit([first.kind, first.value, chunk], edit)
  }

  #edit(key: readonly Value[], edits: ReadonlyMap<number, boolean>): void {
    const stored: Row | undefined = this.#sql.all(
      'SELECT members FROM sets WHERE kind = ? AND value = ? AND chunk = ?',
      key,
    )[0]
    const chunk = edited(stored === undefined ? null : bytes(stored.members), edits)
    if (chunk === null) return
    if (chunk.count === 0) {
      this.#sql.run('DELETE FROM sets WHERE kind = ? AND value = ? AND chunk = ?', key)
      return
    }
    this.#sql.run(
      `INSERT INTO sets (kind, value, chunk, n, members) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (kind, value, chunk) DO UPDATE SET n = excluded.n, members = excluded.members`,
      [...key, chunk.count, chunk.bytes],
    )
  }
}
