/** Commits on disk, abandoned batches, snapshots, pins and compaction. */
import { copyFile, mkdir, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { documentPages, type Pin } from '../../../ts/engine/index.js'
import { parsedSettings } from '../../../ts/settings/index.js'
import type { TestedEngine } from '../../support/engines.js'
import { claimsOf } from './claims.js'

export function commits(tested: TestedEngine): void {
  const claim = claimsOf(tested)

  claim('a committed batch survives a restart', async (t, engine) => {
    await engine.configure('things', { sortableAttributes: ['n'] })
    await engine.put('things', { id: 1, t: 'old', n: 2 }, { id: 2, t: 'gone', n: 1 })
    const report = await engine.apply('things', { kind: 'deleteByIds', ids: ['2'] })
    await engine.reopen()
    t.deepEqual(await engine.engine.lastCommit('things'), report)
    t.deepEqual([...parsedSettings(await engine.engine.settings('things')).sortableAttributes], ['n'])
    t.deepEqual(await engine.idsFor('things', 'old'), [1])
    t.deepEqual(await engine.idsFor('things', 'gone'), [])
    t.deepEqual([...(await engine.engine.list())], ['things'])
    t.deepEqual([...(await engine.engine.verify('things'))], [])
  })

  claim('an abandoned batch leaves no trace', async (t, engine) => {
    await engine.put('things', { id: 1, t: 'old' })
    const upload = await engine.upload([{ id: 1, t: 'new' }])
    const operations = [{ taskUid: 900, ...upload }] as never
    const prepared = await engine.engine.prepare('things', { uid: 90, indexUid: 'things', operations })
    t.deepEqual(await engine.idsFor('things', 'new'), [])
    await engine.engine.abandon(prepared)
    t.deepEqual(await engine.idsFor('things', 'new'), [])
    await engine.reopen()
    t.deepEqual(await engine.idsFor('things', 'old'), [1])
  })

  claim('a repeated batch returns its first report and is not applied twice', async (t, engine) => {
    await engine.put('things', { id: 1, n: 1 })
    const upload = await engine.upload([{ id: 1, n: 2 }])
    const batch = { uid: 90, indexUid: 'things', operations: [{ taskUid: 900, ...upload }] as never }
    const first = await engine.engine.commit(await engine.engine.prepare('things', batch), [])
    await engine.reopen()
    const other = await engine.upload([{ id: 1, n: 3 }])
    const again = { ...batch, operations: [{ taskUid: 900, ...other }] as never }
    const second = await engine.engine.commit(await engine.engine.prepare('things', again), [])
    t.deepEqual(second, first)
    t.is(await engine.documentText('things', '1'), '{"id":1,"n":2}')
  })

  claim('an index id that points outside the directory is refused by every call', async (t, engine) => {
    const victim = join(engine.directory, 'victim')
    await mkdir(victim)
    for (const id of ['../victim', '..', '.', '', '/victim', 'a/../../victim', 'a\\b', 'a\0b']) {
      const batch = { uid: 90, indexUid: 'things', operations: [] }
      const calls = {
        prepare: () => engine.engine.prepare(id, batch),
        undo: () => engine.engine.undo(id, [1]),
        lastCommit: () => engine.engine.lastCommit(id),
        settings: () => engine.engine.settings(id),
        pin: () => engine.engine.pin(id),
        verify: () => engine.engine.verify(id),
        rescue: () => engine.engine.rescue(id, join(engine.directory, 'rescued')),
        drop: () => engine.engine.drop(id),
      }
      for (const [name, call] of Object.entries(calls))
        await t.throwsAsync(
          call,
          { message: /is not the id of an index|is not an index id/ },
          `${name} ${id}`,
        )
    }
    t.true((await stat(victim)).isDirectory())
  })

  claim('a snapshot holds the newest commit and no later commit', async (t, engine) => {
    await engine.put('things', { id: 1, t: 'kept' })
    await engine.snapshot('things', `${engine.directory}/indexes/copy`)
    await engine.put('things', { id: 2, t: 'later' })
    await engine.reopen()
    t.deepEqual(await engine.idsFor('copy', 'kept'), [1])
    t.is((await engine.engine.stats('copy')).numberOfDocuments, 1)
  })

  claim('a compaction replaces the files that a killed one left behind', async (t, engine) => {
    await engine.configure('things', { embedders: { own: { source: 'userProvided', dimensions: 2 } } })
    for (const round of [1, 2])
      await engine.put('things', { id: 1, t: 'kept', round, _vectors: { own: [1, round] } })
    await engine.reopen()
    const folder = join(engine.directory, 'indexes', 'things', 'vectors')
    const logs = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.0.log'))
    t.is(logs.length, tested.name === 'native' ? 1 : 0)
    for (const name of logs)
      await copyFile(join(folder, name), join(folder, name.replace('.0.log', '.1.log')))
    await engine.engine.compact('things')
    t.deepEqual(await engine.idsFor('things', 'kept'), [1])
    t.deepEqual([...(await engine.engine.verify('things'))], [])
  })

  claim(
    'a pinned commit is readable and unchanged after commits, a compaction and a deletion',
    async (t, engine) => {
      const embedders = { own: { source: 'userProvided', dimensions: 2 } }
      await engine.configure('things', { embedders })
      const document = (id: number, round: number) => ({ id, round, _vectors: { own: [id, round] } })
      const round = (number: number) => engine.put('things', ...[1, 2, 3].map((id) => document(id, number)))
      const pinned = async (pin: Pin) => {
        const list = (request: Uint8Array) => engine.engine.pinnedDocuments(pin, request)
        let lines = ''
        for await (const page of documentPages(list, 'things')) lines += page.lines.toString()
        return { settings: await engine.engine.pinnedSettings(pin), lines }
      }
      await round(1)
      await engine.apply('things', { kind: 'deleteByIds', ids: ['2'] })
      const pin = await engine.engine.pin('things')
      const before = await pinned(pin)
      t.is(before.lines.split('\n').length, 3)
      for (const number of [2, 3, 4]) await round(number)
      await engine.engine.compact('things')
      t.deepEqual(await pinned(pin), before)
      const unread = await engine.engine.pin('things')
      await engine.configure('things', { embedders: {} })
      await engine.engine.drop('things')
      t.deepEqual(await pinned(pin), before)
      t.regex((await pinned(unread)).lines, /"round":4,"_vectors":\{"own":\{[^}]*\[2(\.0)?,4(\.0)?\]/)
      await engine.engine.snapshot(pin, `${engine.directory}/indexes/copy`)
      await engine.engine.unpin(pin)
      await t.throwsAsync(engine.engine.pinnedSettings(pin))
      const copy = await engine.engine.pin('copy')
      t.deepEqual(await pinned(copy), before)
    },
  )

  claim(
    'compaction shrinks an index without changing its answers, also after a restart',
    async (t, engine) => {
      await engine.configure('things', {
        filterableAttributes: ['n'],
        embedders: { own: { source: 'userProvided', dimensions: 64 } },
      })
      const document = (id: number, round: number) => ({
        id,
        n: round,
        t: `word${id} round${round} ${'filler '.repeat(40)}`,
        _vectors: { own: Array.from({ length: 64 }, (_, at) => Math.sin(id + at + round)) },
      })
      for (let round = 0; round < 5; round++)
        await engine.put('things', ...Array.from({ length: 60 }, (_, id) => document(id, round)))
      const last = await engine.apply('things', {
        kind: 'deleteByIds',
        ids: Array.from({ length: 20 }, (_, id) => String(id)),
      })
      const vector = Array.from({ length: 64 }, (_, at) => Math.cos(at))
      const hybrid = { embedder: 'own', semanticRatio: 1 }
      const answers = () =>
        Promise.all([
          engine.idsFor('things', 'word3'),
          engine.search('things', { q: 'round4', filter: 'n = 4', limit: 50, showRankingScore: true }),
          engine.search('things', { q: null, vector, hybrid, limit: 50, showRankingScore: true }),
          engine.documentText('things', '42', { retrieveVectors: true }),
          engine.documentText('things', '3'),
        ]).then((all) =>
          JSON.parse(JSON.stringify(all, (key, value) => (key === 'processingTimeMs' ? 0 : value))),
        )
      const before = await answers()
      const { indexSize } = await engine.engine.sizes('things')
      await engine.engine.compact('things')
      const { indexSize: compacted } = await engine.engine.sizes('things')
      t.true(compacted < indexSize * 0.7, `${compacted} of ${indexSize}`)
      t.deepEqual(await answers(), before)
      await engine.engine.compact('things')
      await engine.reopen()
      t.deepEqual(await answers(), before)
      t.deepEqual(await engine.engine.lastCommit('things'), last)
      t.deepEqual([...(await engine.engine.verify('things'))], [])
      await engine.put('things', { ...document(7, 9), t: 'zebra' })
      t.deepEqual(await engine.idsFor('things', 'zebra'), [7])
    },
  )

  claim('a cancelled compaction rejects, and the index stays usable', async (t, engine) => {
    await engine.put('things', { id: 1, t: 'old' })
    await engine.put('things', { id: 2, t: 'older' })
    await t.throwsAsync(engine.engine.compact('things', AbortSignal.abort()))
    t.deepEqual(await engine.idsFor('things', 'old'), [1, 2])
    await engine.put('things', { id: 3, t: 'oldest' })
    t.is((await engine.engine.stats('things')).numberOfDocuments, 3)
  })

  claim('dropping an index removes it, and dropping it again does nothing', async (t, engine) => {
    await engine.put('things', { id: 1 })
    await engine.engine.drop('things')
    await engine.engine.drop('things')
    t.deepEqual([...(await engine.engine.list())], [])
    t.is(await engine.engine.lastCommit('things'), null)
  })
}
