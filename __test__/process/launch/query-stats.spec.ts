import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { startDaemon } from '../../support/daemon.js'

test('counted queries survive a kill and a stop', async (t) => {
  t.timeout(180_000)
  const directory = await mkdtemp(join(tmpdir(), 'siftd-query-stats-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  const data = join(directory, 'data')
  const start = () => startDaemon(t, data, ['--no-analytics', '--query-stats'])
  /** Threads report at different times, so the order of searches says nothing. */
  const written = async (): Promise<number> => {
    const folder = join(data, 'query-stats')
    const names = await readdir(folder).catch(() => [])
    const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))
    return [...texts.join('').matchAll(/^\["boats","\w+",(\d+)/gm)].reduce(
      (sum, [, count]) => sum + Number(count),
      0,
    )
  }
  const killed = await start()
  await killed.call('POST', '/indexes?waitMs=60000', { uid: 'boats' })
  for (const q of ['orbit', 'orbit', 'calm']) await killed.call('POST', '/indexes/boats/search', { q })
  while ((await written()) < 3) await new Promise((resolve) => setTimeout(resolve, 50))
  await killed.kill()
  const stopped = await start()
  await stopped.call('POST', '/indexes/boats/search', { q: 'orbit' })
  t.is(await stopped.stop(), 0)
  const { body } = await (await start()).call('GET', '/stats/queries')
  const counts = (body.mostFrequent as readonly { q: string; count: number }[]).map(({ q, count }) => [
    q,
    count,
  ])
  t.deepEqual(counts, [
    ['orbit', 3],
    ['calm', 1],
  ])
  t.is((body.withoutHits as readonly unknown[]).length, 2)
})
