/** Large pages of tasks and batches end early. Following `next` lists all of them. */
import test from 'ava'
import { loadDriver } from '../../ts/sqlite/driver.js'
import { Sql } from '../../ts/sqlite/sql.js'
import { rebuildSets } from '../../ts/tasks/listing/membership.js'
import { taskRows } from '../../ts/tasks/store/rows.js'
import { Store } from '../../ts/tasks/store/store.js'
import { startServer, type TestBody, type TestServer } from '../support/server.js'

/** Follows `next` through a listing. Returns the uids of each page. */
async function walked(server: TestServer, listing: string, limit: number): Promise<number[][]> {
  const pages: number[][] = []
  let from = ''
  for (;;) {
    const { body } = await server.get(`/${listing}?limit=${limit}${from}`)
    const page = body as TestBody & {
      readonly limit: number
      readonly from: number
      readonly next: number | null
    }
    pages.push(page.results.map(({ uid }) => uid as unknown as number))
    if (pages.at(-1)?.[0] !== page.from || page.limit !== limit)
      throw new Error('a page does not begin at `from`')
    if (page.next === null) return pages
    from = `&from=${page.next}`
  }
}

test('a page of large details has fewer tasks than requested, and names the start of the next page', async (t) => {
  const server = await startServer(t)
  const words = Array.from({ length: 150_000 }, (_, at) => `word-${at}`)
  const path = '/indexes/a/settings/displayed-attributes'
  for (let at = 0; at < 5; at++) await server.settle(t, server.put(path, words.slice(at)))
  for (let at = 0; at < 3; at++) await server.settle(t, server.put(path, ['a']))
  t.deepEqual(await walked(server, 'tasks', 20), [[7, 6, 5, 4, 3], [2, 1], [0]])
  t.deepEqual(await walked(server, 'batches', 20), [[7, 6, 5, 4, 3], [2, 1], [0]])
  t.deepEqual(await walked(server, 'tasks', 2), [
    [7, 6],
    [5, 4],
    [3, 2],
    [1, 0],
  ])
  t.is((await server.get('/tasks?limit=0')).body.results.length, 0)
})

test('a page has at most 10,000 rows, even if more were requested', (t) => {
  const connection = loadDriver().driver.open(':memory:')
  const store = new Store(connection, {
    isCompared: true,
    identity: null,
    reached: () => undefined,
    settle: () => undefined,
    copying: { begin: () => undefined, open: (path) => loadDriver().driver.open(path), end: () => undefined },
    clock: () => 0,
  })
  connection.exec(`INSERT INTO tasks (uid, type, enqueued_at, status)
    WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < 10500)
    SELECT n, 'dumpCreation', n, 'enqueued' FROM numbers`)
  rebuildSets(new Sql(connection))
  const { rows, shown, total } = store.tasks({}, { limit: 4_294_967_295, from: null, reverse: false })
  t.is(total, 10_501)
  t.is(shown, 10_000)
  t.deepEqual(
    [taskRows(rows, false)[0]?.uid, taskRows(rows, false)[shown]?.uid],
    [10_500, 500],
    'and the first row of the next page',
  )
})
