import { localValues, OUTBOX_STORED_AS, replicatedTables } from '../../ts/tasks/replicated/tables.js'
import type { Disk, Query } from './disk.js'

/** The replicated rows of each table as JSON, in the order of `replicatedTables`. */
export type Rows = readonly string[]

const local = localValues.map((name) => `'${name}'`).join(', ')

const queries: readonly Query[] = replicatedTables.map(({ name, key, columns }) => ({
  columns: columns.split(', '),
  rest: `FROM ${name} ${name === 'instance' ? `WHERE name NOT IN (${local})` : ''} ORDER BY ${key}`,
}))

export function rowsOf(disk: Disk): Rows {
  return disk.texts(queries)
}

/** Describes a difference between two states in one line; null if they are equal. */
export function difference(wanted: Rows, found: Rows): string | null {
  for (const [at, { name }] of replicatedTables.entries()) {
    if (wanted[at] === found[at]) continue
    const [rows, others] = [wanted, found].map((each) =>
      (JSON.parse(each[at] ?? '[]') as unknown[]).map((row) => JSON.stringify(row)),
    ) as [string[], string[]]
    const missing = rows.find((row) => !others.includes(row))
    const surplus = others.find((row) => !rows.includes(row))
    if (missing !== undefined || surplus !== undefined)
      return `its ${name} are without ${missing}, with ${surplus}`
  }
  return null
}

/** The rows after each numbered transaction of a store, by the identity of its outbox. */
export class History {
  readonly #states = new Map<string, Rows>()

  /** Records the rows of a store after its last transaction. */
  note(disk: Disk): void {
    const [identity] = disk.rows(['body'], `FROM instance WHERE name = '${OUTBOX_STORED_AS}'`)
    const [last] = disk.rows(['seq'], `FROM sqlite_sequence WHERE name = 'outbox'`)
    if (identity === undefined) return
    this.#states.set(keyOf(JSON.parse(String(identity.body)), Number(last?.seq ?? 0)), rowsOf(disk))
  }

  /** undefined: that transaction was committed together with others. */
  at(outbox: string, last: number): Rows | undefined {
    return this.#states.get(keyOf(outbox, last))
  }
}

const keyOf = (outbox: string, last: number): string => `${outbox} ${last}`
