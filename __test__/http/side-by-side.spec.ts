/** An index whose provider does not answer blocks no other index, no dump, and no swap of others. */
import test from 'ava'
import { startProvider, vectorOf } from '../support/provider.js'
import { startServer, testEngine } from '../support/server.js'

const document = (text: string) => [{ id: 1, text }]

test(`${testEngine}: an index that waits for its embedder blocks no other index and no dump`, async (t) => {
  let asked: () => void = () => undefined
  const isAsked = new Promise<void>((resolve) => {
    asked = resolve
  })
  const provider = await startProvider(t, ({ body }) => {
    const { input } = body as { input: unknown }
    if (input !== 'never') return { embedding: vectorOf(input) }
    asked()
    return null
  })
  const server = await startServer(t, { allowedNetworks: ['127.0.0.0/8'] })
  const statusOf = async (uid: unknown) => (await server.get(`/tasks/${uid}`)).body.status
  const swap = (a: string, b: string) => server.post('/swap-indexes', [{ indexes: [a, b] }])
  const rest = {
    source: 'rest',
    url: provider.url,
    dimensions: 2,
    documentTemplate: '{{doc.text}}',
    request: { input: '{{text}}' },
    response: { embedding: '{{embedding}}' },
  }
  await server.settle(t, server.patch('/indexes/slow/settings', { embedders: { rest } }))
  const waiting = (await server.post('/indexes/slow/documents', document('never'))).body.taskUid
  await isAsked

  for (const index of ['quick', 'other'])
    t.is(
      (await server.settle(t, server.post(`/indexes/${index}/documents`, document('owl')))).status,
      'succeeded',
    )
  t.is((await server.post('/indexes/quick/search', { q: 'owl' })).body.hits.length, 1)
  t.is((await server.settle(t, swap('quick', 'other'))).status, 'succeeded')
  const behind = swap('slow', 'other')
  const { taskUid: blocked } = (await behind).body
  t.is((await server.settle(t, server.post('/dumps'))).status, 'succeeded')
  t.deepEqual([await statusOf(waiting), await statusOf(blocked)], ['processing', 'enqueued'])

  await server.settle(t, server.post(`/tasks/cancel?uids=${waiting}`))
  t.is(await statusOf(waiting), 'canceled')
  t.is((await server.settle(t, behind)).status, 'succeeded')
})
