import type { Sql } from '../../sqlite/index.js'
import type { Membership } from '../listing/membership.js'
import { type Cell, keyOfRow, type RowChanges } from './row-changes.js'
import { type ReplicatedTable, replicatedTables } from './tables.js'

/** Applies row changes of another store to this one. @param changes transactions that follow the state of this store */
export function applyChanges(sql: Sql, members: Membership, changes: RowChanges): void {
  members.replacing(uidsIn(changes, 'tasks'), uidsIn(changes, 'batches'), () => {
    // Contents refer to tasks, so they are deleted first and written last.
    for (const table of [...replicatedTables].reverse()) remove(sql, table, changes)
    for (const table of replicatedTables) write(sql, table, changes[table.name]?.rows ?? [])
  })
}

function uidsIn(changes: RowChanges, name: 'tasks' | 'batches'): readonly number[] {
  const { rows = [], gone = [] } = changes[name] ?? {}
  return [...rows.map(([uid]) => Number(uid)), ...gone.map(([uid]) => Number(uid))]
}

function remove(sql: Sql, table: ReplicatedTable, changes: RowChanges): void {
  const { name, key } = table
  const { rows = [], gone = [] } = changes[name] ?? {}
  const keys = gone.map(([gone]) => gone)
  // Swapped indexes exchange their ids, which are unique, so the rows are deleted first.
  if (name === 'catalogue') keys.push(...rows.map(keyOfRow(table)))
  for (const gone of keys) sql.run(`DELETE FROM ${name} WHERE ${key} = ?`, [gone])
}

function write(sql: Sql, { name, key, columns }: ReplicatedTable, rows: readonly (readonly Cell[])[]): void {
  const names = columns.split(', ')
  const places = names.map(() => '?').join(', ')
  const updates = names.filter((column) => column !== key).map((column) => `${column} = excluded.${column}`)
  // REPLACE would run neither the triggers of a deletion nor those of an update.
  const statement = `INSERT INTO ${name} (${columns}) VALUES (${places})
    ON CONFLICT (${key}) DO UPDATE SET ${updates.join(', ')}`
  for (const row of rows) sql.run(statement, row)
}
