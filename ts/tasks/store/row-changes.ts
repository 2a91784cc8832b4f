/** Changes of rows as text: made by transactions, merged, and read. */
import { type ReplicatedTable, replicatedTables } from './replicated-tables.js'

export type Cell = string | number | null

interface TableChanges {
  /** Rows as they are now, with the columns of their `ReplicatedTable`. */
  readonly rows: readonly (readonly Cell[])[]
  /** Keys of rows that are there no more, each in a list of its own. */
  readonly gone: readonly (readonly [string | number])[]
}

/** By name of the table; JSON text of this is what an outbox holds. */
export type RowChanges = Readonly<Record<string, TableChanges>>

/** Changes of several transactions as one. */
export interface OutboxPage {
  /** Number of the last transaction in it. */
  readonly last: number
  readonly changes: RowChanges
  /** Whether synced transactions follow that did not fit. */
  readonly isCut: boolean
}

/** A page, and what it is of. */
export interface OutgoingPage extends OutboxPage {
  /** Identity of the outbox, which numbers its transactions. */
  readonly outbox: string
  /** Version of the tables. */
  readonly schema: number
}

/** What an outbox holds. */
export interface OutboxFacts {
  /** Identity of the outbox, which numbers its transactions. */
  readonly outbox: string
  /** Number of the last synced transaction that was kept, whether it was sent or not, as far as this process knows. */
  readonly last: number
  /** Number of the last one, whether it is synced or not; 0 without any. */
  readonly newest: number
  /** Transactions that were not sent, whether they are synced or not. */
  readonly unsent: number
}

/** @param tables name, rows and keys of rows that are gone, both as JSON text */
export const changesText = (tables: readonly (readonly [string, string, string])[]): string =>
  `{${tables.map(([name, rows, gone]) => `"${name}":{"rows":${rows},"gone":${gone}}`).join(',')}}`

/** The key of a row, by the columns of its table. */
export function keyOfRow({ key, columns }: ReplicatedTable): (row: readonly Cell[]) => string | number {
  const at = columns.split(', ').indexOf(key)
  return (row) => row[at] as string | number
}

/** Changes that follow each other, as one: of each row its last state alone. */
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

/** Changes in several portions of about that many characters as JSON text, at least a row each. */
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

/** Names of the uploads that changed tasks wait with. */
export function uploadsIn({ contents }: RowChanges): readonly string[] {
  const table = replicatedTables.find(({ name }) => name === 'contents')!
  const at = table.columns.split(', ').indexOf('payload')
  return (contents?.rows ?? []).flatMap((row) => (typeof row[at] === 'string' ? [row[at]] : []))
}

/** What changes tell of the catalogue: uids of indexes that are gone, and ids of those that were written. */
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
