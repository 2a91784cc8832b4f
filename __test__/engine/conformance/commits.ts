/** What does a commit leave on disk, and what an abandoned batch? */
import { parsedSettings } from '../../../ts/settings/index.js'
import type { TestedEngine } from '../../support/engines.js'
import { claimsOf } from './claims.js'

export function commits(tested: TestedEngine): void {
  const claim = claimsOf(tested)

  claim('a committed batch is there after a restart', async (t, engine) => {
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

  claim('a batch that is sent again answers its first report and is not applied twice', async (t, engine) => {
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

  claim('a snapshot holds the newest commit and none after it', async (t, engine) => {
    await engine.put('things', { id: 1, t: 'kept' })
    await engine.engine.snapshot('things', `${engine.directory}/indexes/copy`)
    await engine.put('things', { id: 2, t: 'later' })
    await engine.reopen()
    t.deepEqual(await engine.idsFor('copy', 'kept'), [1])
    t.is((await engine.engine.stats('copy')).numberOfDocuments, 1)
  })

  claim('a dropped index is gone, and dropping it again does nothing', async (t, engine) => {
    await engine.put('things', { id: 1 })
    await engine.engine.drop('things')
    await engine.engine.drop('things')
    t.deepEqual([...(await engine.engine.list())], [])
    t.is(await engine.engine.lastCommit('things'), null)
  })
}
