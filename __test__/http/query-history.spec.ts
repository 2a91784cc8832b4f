import { appendFile, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { QueryHistory } from '../../ts/http/index.js'

const DAY = 86_400_000
const first = Date.UTC(2026, 0, 30, 12)

interface Setup {
  readonly folder: string
  readonly now?: number
  readonly isHashed?: boolean
  readonly daysMax?: number
  readonly dayBytesMax?: number
}

async function emptyFolder(t: ExecutionContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'siftd-queries-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** Counts queries in a run of a server, and returns what it reports before it ends. */
async function run(t: ExecutionContext, { now = first, ...setup }: Setup, queries: readonly string[] = []) {
  const log = { warn: (...given: unknown[]) => t.log(...given) }
  const history = new QueryHistory({ isHashed: false, now: () => now, log, ...setup })
  await history.statistics.loaded
  for (const q of queries)
    history.statistics.add({ indexUid: 'boats', q, ms: q.length, isEmpty: q === 'xyzzy' })
  await history.close()
  const { mostFrequent, withoutHits, slowest, searches } = history.statistics.report(() => true)
  const counts = (list: typeof mostFrequent) => list.map(({ q, count }) => [q, count] as const)
  return { counts: counts(mostFrequent), withoutHits: counts(withoutHits), mostFrequent, slowest, searches }
}

test('queries are counted on over runs, and a torn last line is skipped', async (t) => {
  const folder = await emptyFolder(t)
  await run(t, { folder }, ['orbit', ' Orbit', 'xyzzy'])
  await appendFile(join(folder, '2026-01-30.ndjson'), '["boats","torn",1')
  await writeFile(join(folder, 'readme.txt'), '["boats","other file",9,0,0,0,0,0]')
  const { counts, withoutHits, slowest, searches } = await run(t, { folder, now: first + DAY }, [
    'orbit',
    'calm',
  ])
  t.deepEqual(counts, [
    ['orbit', 3],
    ['calm', 1],
    ['xyzzy', 1],
  ])
  t.deepEqual(withoutHits, [['xyzzy', 1]])
  t.deepEqual([slowest[0]?.q, slowest[0]?.averageMs, searches], ['orbit', 5.33, 5])
  t.deepEqual((await run(t, { folder, now: first + DAY })).counts, counts)
})

test('days outside of the window are forgotten, on disk too', async (t) => {
  const folder = await emptyFolder(t)
  for (const day of [0, 1, 2]) await run(t, { folder, now: first + day * DAY, daysMax: 2 }, [`day ${day}`])
  const { counts } = await run(t, { folder, now: first + 2 * DAY, daysMax: 2 })
  t.deepEqual(
    counts.map(([q]) => q),
    ['day 2', 'day 1'],
  )
  t.deepEqual(await readdir(folder), ['2026-01-31.ndjson', '2026-02-01.ndjson'])
})

test('the file of a day stays below its bound and keeps the most frequent queries', async (t) => {
  const folder = await emptyFolder(t)
  const dayBytesMax = 4000
  for (let round = 0; round < 10; round++) {
    const rare = Array.from({ length: 40 }, (_, i) => `rare ${round} ${i} \u0007`)
    await run(t, { folder, dayBytesMax }, [...rare, 'orbit', 'orbit'])
    t.true((await stat(join(folder, '2026-01-30.ndjson'))).size <= dayBytesMax)
  }
  const { counts, searches } = await run(t, { folder, dayBytesMax })
  t.deepEqual(counts[0], ['orbit', 20])
  t.is(searches, 420)
})

test('queries in clear text are replaced by their hashes once these are asked for', async (t) => {
  const folder = await emptyFolder(t)
  await run(t, { folder }, ['Calm', 'calm'])
  const { counts } = await run(t, { folder, isHashed: true })
  // The first 16 digits of `printf calm | sha256sum`.
  t.deepEqual(counts, [['2b4b2eadf7b2aece', 2]])
  t.deepEqual(await readdir(folder), ['2026-01-30.hashed.ndjson'])
  t.false((await readFile(join(folder, '2026-01-30.hashed.ndjson'), 'utf8')).includes('calm'))
})

test('clicks are counted on over runs, also without their searches', async (t) => {
  const folder = await emptyFolder(t)
  const log = { warn: (...given: unknown[]) => t.log(...given) }
  const click = async (documentId: string, position: number, now = first) => {
    const history = new QueryHistory({ folder, isHashed: false, now: () => now, log })
    await history.statistics.loaded
    history.statistics.click({ indexUid: 'boats', q: 'orbit', documentId, position })
    await history.close()
  }
  await click('a', 4)
  await run(t, { folder, now: first + DAY }, ['orbit'])
  await click('b', 1, first + DAY)
  await appendFile(join(folder, '2026-01-30.ndjson'), '["boats","orbit",1,0,0,0,0,0,[1]]')
  const { mostFrequent, searches } = await run(t, { folder, now: first + DAY })
  t.like(mostFrequent[0], {
    q: 'orbit',
    count: 1,
    clicks: 2,
    averageClickPosition: 2.5,
    lastClicked: ['b', 'a'],
  })
  t.is(searches, 1)
})

test('a folder that cannot be written loses only what is on disk', async (t) => {
  const folder = join(await emptyFolder(t), 'file')
  await writeFile(folder, '')
  t.deepEqual((await run(t, { folder }, ['orbit'])).counts, [['orbit', 1]])
})
