/** A start prepares the indexes that searches of the last process used, before the first search. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startDaemon, type TestDaemon } from '../../support/daemon.js'
import { nativeEngine } from '../../support/requirements.js'
import { testNeeding } from '../../support/test-needing.js'

const runs = testNeeding([nativeEngine])

/** First searches of smaller indexes need no preparation. */
const documents = Array.from({ length: 10_000 }, (_, id) => ({ id, title: 'quiet lamp', year: id % 97 }))

const options = ['--engine', 'native', '--experimental-enable-metrics']
const byYear = { q: 'lamp', sort: ['year:desc'], limit: 3 }

async function settle(daemon: TestDaemon, method: string, path: string, body: unknown): Promise<void> {
  const { taskUid } = (await daemon.call(method, path, body)).body
  for (;;) {
    const task = (await daemon.call('GET', `/tasks/${taskUid}`)).body
    if (task.status === 'succeeded') return
    if (task.status === 'failed') throw new Error(JSON.stringify(task))
    await sleep(20)
  }
}

/** Returns a figure of the tables that sorted searches use. */
async function tables(daemon: TestDaemon, figure: 'entries' | 'misses_total'): Promise<number> {
  const metrics = await (await fetch(`http://127.0.0.1:${daemon.port}/metrics`)).text()
  const line = new RegExp(`^siftd_cache_${figure}\\{kind="documents_by_value"\\} (\\d+)$`, 'm')
  return Number(line.exec(metrics)?.[1])
}

const hits = async (daemon: TestDaemon): Promise<unknown> => {
  const { body, status } = await daemon.call('POST', '/indexes/lamps/search', byYear)
  return { status, ids: body.hits.map(({ id }) => id) }
}

runs('the first sorted search after a start finds its tables', async (t) => {
  const data = await mkdtemp(join(tmpdir(), 'siftd-first-'))
  t.teardown(() => rm(data, { recursive: true, force: true }))
  let daemon = await startDaemon(t, data, options)
  await settle(daemon, 'PATCH', '/indexes/lamps/settings', { sortableAttributes: ['year'] })
  await settle(daemon, 'POST', '/indexes/lamps/documents', documents)
  const answer = { status: 200, ids: [96, 193, 290] }
  t.deepEqual(await hits(daemon), answer)
  t.is(await daemon.stop(), 0)
  const record = join(data, 'indexes', 'searched.json')
  t.like(JSON.parse(await readFile(record, 'utf8')), {
    version: 1,
    indexes: [{ documents: documents.length, uses: { search: ['*'], sort: ['year'] } }],
  })

  daemon = await startDaemon(t, data, options)
  while ((await tables(daemon, 'entries')) === 0) await sleep(20)
  const misses = await tables(daemon, 'misses_total')
  t.deepEqual(await hits(daemon), answer)
  t.is(await tables(daemon, 'misses_total'), misses)
  t.is(await daemon.stop(), 0)

  await writeFile(record, '{"version":')
  daemon = await startDaemon(t, data, options)
  t.deepEqual(await hits(daemon), answer)
  t.true((await tables(daemon, 'misses_total')) > 0, 'a damaged record is ignored')
  t.is(await daemon.stop(), 0)
  t.like(JSON.parse(await readFile(record, 'utf8')), { version: 1 }, 'and replaced')
})
