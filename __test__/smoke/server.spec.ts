/** A real server in a separate process: the shortest path through every part. Details are in `process/`. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { ExecutionContext } from 'ava'
import { Meilisearch } from 'meilisearch'
import { tempDir } from '../backup/archives.js'
import { startDaemon, type TestDaemon } from '../support/daemon.js'
import { testedEngines } from '../support/engines.js'
import { otherThanWindows } from '../support/requirements.js'
import { testNeeding } from '../support/test-needing.js'

const films = [
  { id: 1, title: 'Solaris', year: 1972 },
  { id: 2, title: 'Alien', year: 1979 },
]

const clientOf = ({ port }: TestDaemon): Meilisearch =>
  new Meilisearch({ host: `http://127.0.0.1:${port}`, defaultWaitOptions: { timeout: 60_000, interval: 20 } })

async function load(t: ExecutionContext, client: Meilisearch): Promise<void> {
  const settings = await client.index('films').updateFilterableAttributes(['year']).waitTask()
  const added = await client.index('films').addDocuments(films).waitTask()
  t.deepEqual([settings.status, added.status], ['succeeded', 'succeeded'])
}

async function titles(server: TestDaemon): Promise<readonly unknown[]> {
  const { hits } = await clientOf(server).index('films').search('alein', { filter: 'year > 1975' })
  return hits.map(({ title }) => title)
}

for (const { name, needs } of testedEngines) {
  const tests = testNeeding([...needs, otherThanWindows('Windows has no SIGTERM')])
  const engine = ['--engine', name]

  tests(`${name}: the official client finds its documents, and SIGTERM ends the server with 0`, async (t) => {
    const server = await startDaemon(t, await tempDir(t), engine)
    await load(t, clientOf(server))
    t.deepEqual(await titles(server), ['Alien'])
    t.is(await server.stop(), 0)
  })

  tests(`${name}: acknowledged documents exist after kill -9`, async (t) => {
    const data = await tempDir(t)
    const server = await startDaemon(t, data, engine)
    await load(t, clientOf(server))
    const task = await clientOf(server)
      .index('films')
      .addDocuments([{ id: 3, title: 'Aliens', year: 1986 }])
    await server.kill()
    const again = await startDaemon(t, data, engine)
    t.is((await clientOf(again).tasks.waitForTask(task.taskUid)).status, 'succeeded')
    t.deepEqual((await titles(again)).toSorted(), ['Alien', 'Aliens'])
  })

  tests(`${name}: a server starts from a snapshot of another server`, async (t) => {
    const directory = await tempDir(t)
    const snapshots = join(directory, 'snapshots')
    const server = await startDaemon(t, join(directory, 'data'), [...engine, '--snapshot-dir', snapshots])
    await load(t, clientOf(server))
    t.is((await clientOf(server).createSnapshot().waitTask()).status, 'succeeded')
    await server.stop()
    const [file] = await readdir(snapshots)
    const restored = await startDaemon(t, join(directory, 'restored'), [
      ...engine,
      ...['--import-snapshot', join(snapshots, file ?? 'no snapshot was written')],
    ])
    t.deepEqual(await titles(restored), ['Alien'])
  })
}
