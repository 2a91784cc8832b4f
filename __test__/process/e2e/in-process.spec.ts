import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import test from 'ava'
import { open } from '../../../ts/index.js'

test('a directory can be searched in-process, and writes are durable', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'siftd-open-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  const siftd = await open({ directory, engine: 'fallback', logLevel: 'OFF' })
  const films = siftd.index('films')
  const added = await films.addDocuments([
    { id: 1, title: 'A Quiet Orbit', year: 1999 },
    { id: 2, title: 'Salt and Iron', year: 1974 },
  ])
  t.is((await siftd.waitForTask(added.taskUid)).status, 'succeeded')
  const set = await films.updateSettings({ filterableAttributes: ['year'] })
  t.is((await siftd.waitForTask(set.taskUid)).status, 'succeeded')
  const { hits } = await films.search('quite orbit', { limit: 1, attributesToRetrieve: ['id'] })
  t.deepEqual(hits, [{ id: 1 }])
  const recent = await films.search(null, { filter: 'year < 1980' })
  t.deepEqual(
    recent.hits.map(({ id }) => id),
    [2],
  )
  await t.throwsAsync(films.search('x', { limit: -1 }), { code: 'invalid_search_limit' })
  await t.throwsAsync(films.search('x', { filter: 'title = a' }), { code: 'invalid_search_filter' })
  await t.throwsAsync(siftd.index('ghosts').search('x'), { code: 'index_not_found' })
  t.throws(() => siftd.index('no spaces'), { code: 'invalid_index_uid' })
  const wrong = films.updateSettings({ stopWords: 'the' as never })
  await t.throwsAsync(wrong, { code: 'invalid_settings_stop_words' })
  const removed = await films.deleteDocuments([1])
  await siftd.waitForTask(removed.taskUid)
  await siftd.close()

  const again = await open({ directory, logLevel: 'OFF' })
  t.is(again.engine, 'fallback')
  t.is(await again.index('films').document(1), null)
  t.like(await again.index('films').document(2), { title: 'Salt and Iron' })
  t.deepEqual((await again.index('films').settings()).filterableAttributes, ['year'])
  await again.close()
})

test('in-process use loads no module of the HTTP layer', async (t) => {
  const refusing = `
    import { register } from 'node:module'
    const resolve = (name, context, next) => {
      if (/fastify|prom-client|\\/ts\\/http\\//.test(name)) throw new Error(name + ' is loaded')
      return next(name, context)
    }
    register('data:text/javascript,' + encodeURIComponent('export const resolve = ' + resolve))`
  const hooks = `data:text/javascript,${encodeURIComponent(refusing)}`
  const entry = fileURLToPath(new URL('../../../ts/index.js', import.meta.url))
  const load = (file: string) =>
    promisify(execFile)(process.execPath, ['--import', hooks, '-e', `import(${JSON.stringify(file)})`])
  await t.notThrowsAsync(load(entry))
  await t.throwsAsync(load(fileURLToPath(new URL('../../../ts/http/index.js', import.meta.url))), {
    message: /is loaded/,
  })
})
