/** Row changes in text form. */
import { type ReplicatedTable, replicatedTables } from './tables.js'

export type Cell = string | number | null

interface TableChanges {
  /** Current rows, with the columns of their `ReplicatedTable`. */
  readonly rows: readonly (readonly Cell[])[]
  /** Keys of deleted rows, each in its own list. */
  readonly gone: readonly (readonly [string | number])[]
}

/** By table name. An outbox stores the JSON text of this. */
export type RowChanges = Readonly<Record<string, TableChanges>>

/** Merged changes of several transactions. */
export interface OutboxPage {
  /** Number of the last included transaction. */
  readonly last: number
  readonly changes: RowChanges
  /** True if more synced transactions follow that did not fit. */
  readonly isCut: boolean
}

/** A page with its origin. */
export interface OutgoingPage extends OutboxPage {
  /** Identity of the outbox, which numbers its transactions. */
  readonly outbox: string
  /** Schema version of the tables. */
  readonly schema: number
}

/** The state of an outbox. */
export interface OutboxFacts {
  /** Identity of the outbox, which numbers its transactions. */
  readonly outbox: string
  /** Number of the last kept transaction, sent or not, that is known to be synced. */
  readonly last: number
  /** Number of the last transaction, synced or not; 0 if none. */
  readonly newest: number
  /** Number of unsent transactions, synced or not. */
  readonly unsent: number
}

/** @param tables name, rows and keys of deleted rows, the latter two as JSON text */
export const changesText = (tables: readonly (readonly [string, string, string])[]): string =>
  `{${tables.map(([name, rows, gone]) => `"${name}":{"rows":${rows},"gone":${gone}}`).join(',')}}`

/** Returns a function that gets the key of a row of this table. */
export function keyOfRow({ key, columns }: ReplicatedTable): (row: readonly Cell[]) => string | number {
  const at = columns.split(', ').indexOf(key)
  return (row) => row[at] as string | number
}

/** Merges consecutive changes: keeps the last state of each row. */
export function merged(all: readonly RowChanges[]): RowChanges {
  if (all.length === 1 && all[0] !== undefined) return all[0]
  const tables: Record<string, TableChanges> = {}
  for (const table of replicatedTables) {
    const keyOf = keyOfRow(table)
    const rows = new Map<string | number, readonly Cell[] | null>()
    for (const changes of all) {
      const own = changes[table.name]
      for (const [key] of own?.gone ?? []) rows.set(key, null)
      for (const row of own?.rows ?? []) rows.set(keyOf(row), row)
    }
    if (rows.size === 0) continue
    tables[table.name] = {
      rows: [...rows.values()].filter((row) => row !== null),
      gone: [...rows].flatMap(([key, row]) => (row === null ? [[key] as const] : [])),
    }
  }
  return tables
}

/** Splits changes into portions of about `charsMax` characters of JSON text, each with at least one row. */
export function portionsOf(changes: RowChanges, charsMax: number): readonly RowChanges[] {
  const portions: Record<string, { rows: (readonly Cell[])[]; gone: (readonly [string | number])[] }>[] = []
  let chars = Number.POSITIVE_INFINITY
  const put = (name: string, member: 'rows' | 'gone', value: readonly Cell[]): void => {
    const length = JSON.stringify(value).length
    if (chars + length > charsMax) {
      portions.push({})
      chars = 0
    }
    chars += length
    const portion = portions.at(-1)!
    const table = portion[name] ?? { rows: [], gone: [] }
    portion[name] = table
    ;(table[member] as (readonly Cell[])[]).push(value)
  }
  for (const [name, { rows, gone }] of Object.entries(changes)) {
    for (const row of rows) put(name, 'rows', row)
    for (const key of gone) put(name, 'gone', key)
  }
  return portions
}

/** Names of the uploads of changed waiting tasks. */
export function uploadsIn({ contents }: RowChanges): readonly string[] {
  const table = replicatedTables.find(({ name }) => name === 'contents')!
  const at = table.columns.split(', ').indexOf('payload')
  return (contents?.rows ?? []).flatMap((row) => (typeof row[at] === 'string' ? [row[at]] : []))
}

/** Catalogue changes: uids of deleted indexes, and uids and ids of written ones. */
export function catalogueIn({ catalogue }: RowChanges): {
  readonly gone: readonly string[]
  readonly written: readonly (readonly [uid: string, id: string])[]
} {
  const { rows = [], gone = [] } = catalogue ?? {}
  return {
    gone: gone.map(([uid]) => String(uid)),
    written: rows.map(([uid, id]) => [String(uid), String(id)] as const),
  }
}
