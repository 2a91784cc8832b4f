/** The end of the fallback's thread fails only the requests that were running on it. */
import type { Worker } from 'node:worker_threads'
import type { Engine } from '../../ts/engine/index.js'
import { checkError } from '../support/refusals.js'
import type { Requirement } from '../support/requirements.js'
import { startServer, type TestBody, type TestServer, testEngine } from '../support/server.js'
import { testNeeding } from '../support/test-needing.js'

/**
 * The fallback engine's threads, oldest first. The platform reports each thread; the task store's thread reports its
 * kind.
 */
const engines: Worker[] = []
process.on('worker', (worker) => {
  engines.push(worker)
  worker.once('message', (message: { readonly driver?: unknown }) => {
    if (message.driver !== undefined) engines.splice(engines.indexOf(worker), 1)
  })
})

const fallbackOnly: Requirement = {
  missing: testEngine === 'fallback' ? null : `the ${testEngine} engine has no such thread`,
  isDemanded: false,
}
const fallback = testNeeding([fallbackOnly])

async function ended(server: TestServer, uid: number): Promise<TestBody> {
  for (;;) {
    const { body } = await server.get(`/tasks/${uid}`)
    if (!['enqueued', 'processing'].includes(body.status)) return body
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

const ids = async (server: TestServer): Promise<number[]> => {
  const { body } = await server.get('/indexes/a/documents?limit=10000')
  return body.results.map(({ id }) => id as unknown as number).sort((a, b) => a - b)
}

fallback('a search during which the engine ends is internal, the next one is answered', async (t) => {
  let endsNext = false
  const wrapEngine = (engine: Engine): Engine =>
    new Proxy(engine, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        if (name !== 'search') return value.bind(target)
        return (...args: Parameters<Engine['search']>) => {
          const answer = target.search(...args)
          if (endsNext) void engines.at(-1)?.terminate()
          endsNext = false
          return answer
        }
      },
    })
  const server = await startServer(t, { wrapEngine })
  await server.settle(t, server.post('/indexes/a/documents', [{ id: 1, t: 'solaris' }]))
  endsNext = true
  checkError(t, await server.post('/indexes/a/search', { q: 'solaris' }), 500, 'internal')
  t.is((await server.get('/health')).status, 200)
  const found = await server.post('/indexes/a/search', { q: 'solaris' })
  t.deepEqual(found.body.hits, [{ id: 1, t: 'solaris' }] as never)
})

fallback('a batch during which the engine ends is carried out by the next one, once', async (t) => {
  const server = await startServer(t)
  const before = engines.length
  const documents: number[] = []
  for (const endsAfter of [0, 2, 4, 7]) {
    const uids: number[] = []
    for (let at = 0; at < 8; at++) {
      const id = documents.length
      documents.push(id)
      const accepted = await server.post('/indexes/a/documents', [{ id, text: `word ${id} `.repeat(300) }])
      t.is(accepted.status, 202)
      uids.push(accepted.body.taskUid)
      if (at === endsAfter) await engines.at(-1)?.terminate()
    }
    for (const uid of uids) t.is((await ended(server, uid)).status, 'succeeded')
    t.deepEqual(await ids(server), documents)
  }
  t.true(engines.length >= before + 4, 'the engine did end')
})
