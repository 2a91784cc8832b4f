import test from 'ava'
import { loadDriver } from '../../ts/sqlite/driver.js'
import { replicatedTables } from '../../ts/tasks/replicated/tables.js'
import { SCHEMA } from '../../ts/tasks/store/schema.js'

/** Tables that are derived from others, or describe the files of one directory. */
const others = ['disposable', 'failed_commits', 'sets', 'swap_names']

test('every table is replicated with all its columns, or listed as not replicated', (t) => {
  const connection = loadDriver().driver.open(':memory:')
  t.teardown(() => connection.close())
  connection.exec(SCHEMA)
  const all = (sql: string, given: readonly string[] = []) => connection.prepare(sql).all(given)
  const tables = all("SELECT name FROM sqlite_schema WHERE type = 'table'").map(({ name }) => String(name))
  t.deepEqual(tables.sort(), [...replicatedTables.map(({ name }) => name), ...others].sort())
  for (const { name, key, columns } of replicatedTables) {
    const found = all('SELECT name, pk FROM pragma_table_info(?)', [name])
    t.deepEqual(columns.split(', ').sort(), found.map((row) => String(row.name)).sort(), name)
    t.deepEqual(
      found.filter(({ pk }) => pk === 1).map((row) => row.name),
      [key],
      name,
    )
  }
})
