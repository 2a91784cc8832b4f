/** Durability of the files of the fallback engine, and detection of damage. */

import { mkdir, open as openFile, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import type { Operation } from '../../../ts/engine/batches.js'
import { LocalEngine } from '../../../ts/engine/fallback/engine.js'
import { openFallback } from '../../../ts/engine/fallback/index.js'
import { parsedSettings } from '../../../ts/settings/index.js'
import { type OpenEngine, TestEngine } from '../../support/engine.js'

const open: OpenEngine = (directory) =>
  openFallback({ directory, log: { warn: () => undefined, error: () => undefined } })

const snapshotOf = (engine: TestEngine): string => join(engine.directory, 'indexes/things/built.snapshot')
const logOf = (engine: TestEngine): string => join(engine.directory, 'indexes/things/commits.log')

async function twoCommits(engine: TestEngine): Promise<{ firstEnd: number; end: number }> {
  await engine.put('things', { id: 1, t: 'first' })
  const firstEnd = (await stat(logOf(engine))).size
  await engine.put('things', { id: 2, t: 'second' })
  return { firstEnd, end: (await stat(logOf(engine))).size }
}

test.serial('a log truncated within its last commit opens at the previous commit', async (t) => {
  const engine = await TestEngine.start(t, open)
  const { firstEnd, end } = await twoCommits(engine)
  const intact = await readFile(logOf(engine))
  const cuts = [firstEnd + 1, firstEnd + 8, firstEnd + 20, Math.floor((firstEnd + end) / 2), end - 1]
  for (const cut of cuts) {
    await engine.engine.close()
    await writeFile(logOf(engine), intact)
    await truncate(logOf(engine), cut)
    await engine.reopen()
    t.deepEqual(await engine.idsFor('things', 'first'), [1], `cut at ${cut}`)
    t.deepEqual(await engine.idsFor('things', 'second'), [], `cut at ${cut}`)
    t.is((await engine.engine.lastCommit('things'))?.batchUid, 1)
    await engine.put('things', { id: 3, t: 'third' })
    await engine.reopen()
    t.deepEqual(await engine.idsFor('things', 'third'), [3], `written after a cut at ${cut}`)
  }
})

test.serial('a log damaged before its last commit is refused with the file name', async (t) => {
  const engine = await TestEngine.start(t, open)
  const { firstEnd } = await twoCommits(engine)
  const bytes = await readFile(logOf(engine))
  bytes[firstEnd - 3]! ^= 0xff
  await engine.engine.close()
  await writeFile(logOf(engine), bytes)
  engine.engine = await open(join(engine.directory, 'indexes'))
  await t.throwsAsync(engine.idsFor('things', 'first'), { message: /commits\.log is damaged/ })
  const [damage] = await engine.engine.verify('things')
  t.is(damage?.path, logOf(engine))
})

test.serial('searches are answered while a large batch is prepared', async (t) => {
  const engine = await TestEngine.start(t, open)
  await engine.put('things', { id: 1, t: 'calm' })
  const words = Array.from({ length: 400 }, (_, at) => `word${at}`).join(' ')
  const many = Array.from({ length: 1500 }, (_, id) => ({ id, t: words }))
  const task = await engine.upload(many)
  let prepared = false
  const preparing = engine.engine
    .prepare('other', {
      uid: 50,
      indexUid: 'other',
      operations: [{ taskUid: 1, ...task } as Operation],
    })
    .then((ticket) => {
      prepared = true
      return ticket
    })
  for (let round = 0; round < 3; round++) t.deepEqual(await engine.idsFor('things', 'calm'), [1])
  t.false(prepared)
  await engine.engine.abandon(await preparing)
})

test.serial('a mostly obsolete log is rewritten, and answers stay the same', async (t) => {
  const engine = await TestEngine.start(t, open)
  const filler = 'x'.repeat(1_200_000)
  for (let round = 0; round < 20; round++) await engine.put('things', { id: 1, round, filler: [filler] })
  t.true((await stat(logOf(engine))).size < 16 * 1024 * 1024)
  await engine.reopen()
  t.regex((await engine.documentText('things', '1', { fields: ['round'] })) ?? '', /19/)
  t.is((await engine.engine.lastCommit('things'))?.batchUid, 20)
})

/** Settings that fill every part of an index. */
const settings = {
  filterableAttributes: ['year', 'tags', 'note', '_geo'],
  sortableAttributes: ['year', '_geo'],
  synonyms: { film: ['movie'] },
}

/** Everything that a client can see. */
async function everything(engine: TestEngine): Promise<unknown> {
  const searches = await Promise.all([
    engine.search('things', { q: '', facets: ['*'], sort: ['year:desc'], limit: 1000 }),
    engine.search('things', { q: 'quiet film', facets: ['tags'], showRankingScoreDetails: true, limit: 50 }),
    engine.search('things', { q: '"first part"', filter: 'year > 1950 AND note IS NULL', limit: 50 }),
    engine.search('things', { q: 'q', filter: '_geoRadius(45, 9, 90000)', sort: ['_geoPoint(45, 9):asc'] }),
    engine.search('things', { q: '', filter: 'tags = DARK AND NOT year EXISTS' }),
  ])
  return {
    searches: searches.map(({ hits, estimatedTotalHits, facetDistribution, facetStats }) => ({
      hits,
      estimatedTotalHits,
      facetDistribution,
      facetStats,
    })),
    stats: { ...(await engine.engine.stats('things')), indexSize: 0, rawDocumentDbSize: 0 },
    fields: await engine.engine.fields('things'),
    commit: await engine.engine.lastCommit('things'),
  }
}

// Longer than any indexed word: makes the log long without slowing indexing.
const FILLER = 'x'.repeat(3500)
const thing = (id: number) => ({
  id,
  title: `The ${['quiet', 'loud', 'first', 'last'][id % 4]} part of film ${id}`,
  ...(id % 5 === 0 ? {} : { year: 1900 + (id % 120) }),
  tags: id % 3 === 0 ? ['dark', 'Öl'] : 'dark',
  note: id % 7 === 0 ? null : id % 11 === 0 ? '' : 'x',
  _geo: { lat: 45 + (id % 10) / 10, lng: 9 },
  text: `${FILLER} ${id}`,
})

/** Creates an index with a snapshot, followed by commits of every kind. */
async function snapshotAndTail(engine: TestEngine): Promise<void> {
  await engine.configure('things', settings)
  await engine.put('things', ...Array.from({ length: 400 }, (_, id) => thing(id)))
  // A copy waits for background writes; closing would cancel them.
  await engine.snapshot('things', join(engine.directory, 'copy'))
  await engine.reopen()
  await stat(snapshotOf(engine))
  await engine.put('things', { ...thing(4), title: 'another quiet film' }, thing(9001))
  await engine.apply('things', { kind: 'deleteByIds', ids: ['1', '2', '399'] })
}

test.serial('an index opened from its snapshot gives the same answers as from its log', async (t) => {
  const engine = await TestEngine.start(t, open)
  await snapshotAndTail(engine)
  const before = await everything(engine)
  await engine.reopen()
  t.deepEqual(await everything(engine), before, 'snapshot and tail')
  await engine.engine.close()
  await rm(snapshotOf(engine))
  engine.engine = await open(join(engine.directory, 'indexes'))
  t.deepEqual(await everything(engine), before, 'log alone')
  await engine.configure('things', {
    ...settings,
    stopWords: ['quiet'],
    filterableAttributes: ['tags', 'note', 'year', '_geo'],
  })
  const settled = await everything(engine)
  await engine.reopen()
  t.deepEqual(await everything(engine), settled, 'settings after the snapshot')
  await engine.apply('things', { kind: 'clear' })
  await engine.put('things', thing(3))
  const cleared = await everything(engine)
  await engine.reopen()
  t.deepEqual(await everything(engine), cleared, 'cleared after the snapshot')
})

test.serial('a damaged, truncated or foreign snapshot is ignored and reported by verify', async (t) => {
  const engine = await TestEngine.start(t, open)
  await snapshotAndTail(engine)
  const before = await everything(engine)
  await engine.engine.close()
  const intact = await readFile(snapshotOf(engine))
  const places = [0, 30, 200, Math.floor(intact.length / 2), intact.length - 20, intact.length - 2]
  const flipped = places.map((at) => {
    const bytes = Buffer.from(intact)
    bytes[at]! ^= 0x10
    return { name: `flipped at ${at}`, bytes, damages: 1 }
  })
  const cut = [0, 7, 40, Math.floor(intact.length / 3), intact.length - 1].map((at) => ({
    name: `cut at ${at}`,
    bytes: intact.subarray(0, at),
    damages: 1,
  }))
  for (const { name, bytes, damages } of [...flipped, ...cut]) {
    await writeFile(snapshotOf(engine), bytes)
    engine.engine = await open(join(engine.directory, 'indexes'))
    const damage = await engine.engine.verify('things')
    t.deepEqual(
      damage.map(({ path }) => path),
      Array(damages).fill(snapshotOf(engine)),
      name,
    )
    t.deepEqual(await everything(engine), before, name)
    await engine.engine.close()
    t.deepEqual((await readdir(join(engine.directory, 'indexes/things'))).sort(), [
      'built.snapshot',
      'commits.log',
    ])
  }
  engine.engine = await open(join(engine.directory, 'indexes'))
  await engine.snapshot('things', join(engine.directory, 'copy of the last'))
  t.deepEqual(await engine.engine.verify('things'), [], 'rewritten')
})

test.serial(
  'a log with any byte flipped opens at a complete commit, or is refused with the file name',
  async (t) => {
    const engine = await TestEngine.start(t, open)
    const states = new Map<number, unknown>()
    for (const at of [1, 2, 3]) {
      await engine.put('things', { id: at, t: `word${at}` })
      states.set(at, await engine.idsFor('things', 'word'))
    }
    await engine.engine.close()
    const intact = await readFile(logOf(engine))
    let refused = 0
    for (let at = 0; at < intact.length; at++) {
      const bytes = Buffer.from(intact)
      bytes[at]! ^= 1 << (at % 8)
      await writeFile(logOf(engine), bytes)
      const reader = await LocalEngine.open({ directory: join(engine.directory, 'indexes') }, () => undefined)
      try {
        const uid = (await reader.lastCommit('things'))?.batchUid
        // Damage in the last commit looks like an unfinished commit.
        t.is(uid, 2, `flipped at ${at}`)
      } catch (error) {
        t.regex((error as Error).message, /commits\.log is damaged/, `flipped at ${at}`)
        refused++
      }
      await reader.close()
    }
    t.true(refused > intact.length / 2)
    for (let cut = intact.length; cut >= 0; cut--) {
      await writeFile(logOf(engine), intact.subarray(0, cut))
      engine.engine = await LocalEngine.open(
        { directory: join(engine.directory, 'indexes') },
        () => undefined,
      )
      const uid = (await engine.engine.lastCommit('things'))?.batchUid
      t.deepEqual(uid === undefined ? [] : await engine.idsFor('things', 'word'), states.get(uid ?? 0) ?? [])
      await engine.engine.close()
    }
    engine.engine = await open(join(engine.directory, 'indexes'))
  },
)

/** Makes file operations fail in this thread, by name, until the test ends. */
async function failingCalls(t: ExecutionContext, directory: string) {
  const probe = await openFile(directory, 'r')
  const files = Object.getPrototypeOf(probe) as Record<string, (...args: unknown[]) => Promise<unknown>>
  await probe.close()
  const failing = new Set<string>()
  for (const name of ['datasync', 'sync', 'truncate']) {
    const real = files[name]!
    files[name] = function (this: unknown, ...args) {
      const fault = Object.assign(new Error(`EIO: i/o error, ${name}`), { code: 'EIO' })
      return failing.has(name) ? Promise.reject(fault) : real.apply(this, args)
    }
    t.teardown(() => {
      files[name] = real
    })
  }
  return failing
}

/** An engine on this thread with one document, after a second commit that could neither be synced nor reverted. */
async function failedCommit(t: ExecutionContext) {
  const engine = await TestEngine.start(t, (directory) => LocalEngine.open({ directory }, () => undefined))
  await engine.put('things', { id: 1, t: 'first' })
  const failing = await failingCalls(t, engine.directory)
  for (const name of ['datasync', 'sync', 'truncate']) failing.add(name)
  // Documents are synced before their commit frame. Without documents, only the commit frame is synced.
  const configured = engine.configure('things', { stopWords: ['first'] })
  await t.throwsAsync(configured, { code: 'io_error', message: /EIO/ })
  return { engine, failing }
}

test.serial('a failed commit that could not be reverted is truncated before the next commit', async (t) => {
  const { engine, failing } = await failedCommit(t)
  t.deepEqual(await engine.idsFor('things', 'first'), [1])
  await t.throwsAsync(engine.put('things', { id: 2, t: 'second' }), { code: 'io_error' })
  failing.clear()
  await engine.put('things', { id: 3, t: 'third' })
  for (const isAgain of [false, true]) {
    if (isAgain) await engine.reopen()
    t.deepEqual(await engine.idsFor('things', 'first'), [1])
    t.deepEqual(await engine.idsFor('things', 'second'), [])
    t.deepEqual(await engine.idsFor('things', 'third'), [3])
    t.deepEqual(parsedSettings(await engine.engine.settings('things')).stopWords, [])
  }
})

test.serial('a failed commit found in the log after a restart can be undone', async (t) => {
  const { engine, failing } = await failedCommit(t)
  failing.clear()
  await engine.reopen()
  const left = await engine.engine.lastCommit('things')
  t.is(left?.batchUid, 2, 'the log contains the failed commit')
  await engine.reopen()
  failing.add('sync')
  await t.throwsAsync(engine.engine.undo('things', [2]), { message: /EIO/ })
  failing.clear()
  await engine.engine.undo('things', [2, 7])
  for (const isAgain of [false, true]) {
    if (isAgain) await engine.reopen()
    t.is((await engine.engine.lastCommit('things'))?.batchUid, 1)
    t.deepEqual(await engine.idsFor('things', 'first'), [1])
  }
  await engine.engine.undo('things', [7])
  t.is((await engine.engine.lastCommit('things'))?.batchUid, 1, 'other commits stay')
})

test.serial('a failed commit is reverted by the next engine thread', async (t) => {
  const { engine, failing } = await failedCommit(t)
  failing.clear()
  await engine.engine.close()
  const directory = join(engine.directory, 'indexes')
  engine.engine = await LocalEngine.open(
    { directory, failedCommits: new Map([['things', [2]]]) },
    () => undefined,
  )
  t.deepEqual(await engine.idsFor('things', 'first'), [1])
  t.is((await engine.engine.lastCommit('things'))?.batchUid, 1)
})

test.serial('a failed log rewrite does not fail the commit', async (t) => {
  const engine = await TestEngine.start(t, open)
  await engine.put('things', { id: 0 })
  await mkdir(`${logOf(engine)}.new`)
  const filler = 'x'.repeat(1_200_000)
  for (let round = 0; round < 16; round++) await engine.put('things', { id: 1, round, filler: [filler] })
  t.true((await stat(logOf(engine))).size > 16 * 1024 * 1024)
  await rm(`${logOf(engine)}.new`, { recursive: true })
  await engine.put('things', { id: 2, t: 'last' })
  t.true((await stat(logOf(engine))).size < 16 * 1024 * 1024)
  await engine.reopen()
  t.deepEqual(await engine.idsFor('things', 'last'), [2])
})
