/**
 * 1. A cancelation ends a running batch at any stage, and leaves no trace of it.
 * 2. The next task finds the index unchanged.
 */
import { readdir } from 'node:fs/promises'
import test, { type ExecutionContext } from 'ava'
import type { Engine } from '../../ts/engine/index.js'
import { startServer, type TestServer } from '../support/server.js'
import { temporaryDirectory } from '../tasks/test-queue.js'

const pause = () => new Promise((resolve) => setTimeout(resolve, 5))

/** Makes the next call of this engine method wait after `arm`. */
function brake(name: 'prepare' | 'commit' | 'pinnedDocuments') {
  let isArmed = false
  let reached: () => void = () => undefined
  let release: () => void = () => undefined
  const waiting = new Promise<void>((resolve) => {
    reached = resolve
  })
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const wrap = (engine: Engine): Engine =>
    new Proxy(engine, {
      get(target, member) {
        const value: unknown = Reflect.get(target, member)
        if (typeof value !== 'function') return value
        return async (...given: readonly unknown[]) => {
          if (member === name && isArmed) {
            isArmed = false
            reached()
            await released
          }
          const done = Reflect.apply(value, target, given)
          // The prepared batch is abandoned, and the waiting commit may find that it is gone.
          if (member === 'abandon') void Promise.resolve(done).then(() => release())
          return done
        }
      },
    })
  const arm = () => {
    isArmed = true
  }
  return { wrap, arm, waiting, release: () => release() }
}

type Brake = ReturnType<typeof brake>

/** A server with two documents, whose next batch blocks. */
async function stuck(t: ExecutionContext, hold: Brake, dumpDirectory: string): Promise<TestServer> {
  const server = await startServer(t, { queueEngine: hold.wrap, dumpDirectory })
  // Runs before the server closes, because closing waits for the queue.
  t.teardown(() => hold.release())
  await server.settle(
    t,
    server.post('/indexes/i/documents', [
      { id: 1, t: 'red sun' },
      { id: 2, t: 'blue moon' },
    ]),
  )
  hold.arm()
  return server
}

const write: readonly (readonly [what: string, 'POST' | 'PATCH' | 'DELETE', path: string, body?: unknown])[] =
  [
    ['an addition', 'POST', '/indexes/i/documents', [{ id: 3, t: 'green' }]],
    ['a deletion by filter', 'POST', '/indexes/i/documents/delete', { filter: '_geoRadius(0,0,1)' }],
    ['a clear', 'DELETE', '/indexes/i/documents'],
    ['settings that read every document again', 'PATCH', '/indexes/i/settings', { stopWords: ['red'] }],
    ['a new index', 'POST', '/indexes', { uid: 'j' }],
  ]
for (const [what, method, path, body] of write) {
  for (const name of ['prepare', 'commit'] as const) {
    test(`${what} canceled during ${name} changes nothing`, async (t) => {
      const hold = brake(name)
      const server = await stuck(t, hold, await temporaryDirectory(t))
      const before = await shown(server)
      const { taskUid } = (await server.request(method, path, body === undefined ? {} : { body })).body
      await hold.waiting
      const canceled = await server.settle(t, server.post(`/tasks/cancel?uids=${taskUid}`))
      t.like(canceled, { status: 'succeeded', details: { matchedTasks: 1, canceledTasks: 1 } })
      t.is((await server.get(`/tasks/${taskUid}`)).body.status, 'canceled')
      t.deepEqual(await shown(server), before)
      // A canceled preparation runs until it notices. The next one waits for it.
      hold.release()
      const next = await server.settle(t, server.post('/indexes/i/documents', [{ id: 4, t: 'next' }]))
      t.is(next.status, 'succeeded')
      t.is((await server.get('/indexes/i/documents')).body.total, 3)
    })
  }
}

/** All state that a canceled write could have changed. */
async function shown(server: TestServer): Promise<unknown> {
  const paths = ['/indexes', '/indexes/i/documents', '/indexes/i/settings', '/indexes/i/stats']
  const answers = await Promise.all(paths.map((path) => server.get(path)))
  const found = (await server.post('/indexes/i/search', { q: 'red' })).body.hits
  return [...answers.map(({ body }) => ({ ...body, isIndexing: null })), found]
}

test('a canceled dump leaves no file', async (t) => {
  const hold = brake('pinnedDocuments')
  const dumps = await temporaryDirectory(t)
  const server = await stuck(t, hold, dumps)
  const { taskUid } = (await server.post('/dumps')).body
  await hold.waiting
  const cancelation = server.post(`/tasks/cancel?uids=${taskUid}`)
  t.is((await cancelation).status, 200)
  hold.release()
  t.like(await server.settle(t, cancelation), { details: { canceledTasks: 1 } })
  t.like((await server.get(`/tasks/${taskUid}`)).body, { status: 'canceled', details: { dumpUid: null } })
  while ((await readdir(dumps)).length > 0) await pause()
  t.is((await server.settle(t, server.post('/dumps'))).status, 'succeeded')
  t.is((await readdir(dumps)).length, 1)
})
