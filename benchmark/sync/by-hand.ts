/**
 * node by-hand.js DATABASE_URL SERVER_URL
 *
 * Copies the table as a user would who writes the copying: a cursor, batches of 10,000 documents by the official client,
 * and a wait for the last task.
 */
import { Meilisearch } from 'meilisearch'
import pg from 'pg'
import { UID } from './products.js'

const BATCH_ROWS = 10_000

const [database, host = ''] = process.argv.slice(2)
for (const type of [pg.types.builtins.INT8, pg.types.builtins.NUMERIC]) pg.types.setTypeParser(type, Number)
const source = new pg.Client({ connectionString: database })
await source.connect()
const index = new Meilisearch({ host }).index(UID)
await source.query('begin')
await source.query('declare rows cursor for select * from products')
let last: number | null = null
for (;;) {
  const { rows } = await source.query(`fetch ${BATCH_ROWS} from rows`)
  if (rows.length === 0) break
  const documents = rows.map(({ changed_at, ...fields }) => ({ ...fields, changed: changed_at.getTime() }))
  last = (await index.addDocuments(documents, { primaryKey: 'id' })).taskUid
}
await source.end()
if (last === null) throw new Error('the table is empty')
const task = await index.tasks.waitForTask(last, { timeout: 0, interval: 50 })
if (task.status !== 'succeeded') throw new Error(JSON.stringify(task.error))
