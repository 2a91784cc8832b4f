import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import test from 'ava'
import { startServer } from '../support/server.js'

const local = { allowedNetworks: ['127.0.0.0/8'] }

test('an export brings settings and documents to another server, in chunks', async (t) => {
  const [from, to] = await Promise.all([startServer(t, local), startServer(t)])
  const settings = { filterableAttributes: ['year'], stopWords: ['the'] }
  await from.settle(t, from.patch('/indexes/films/settings', settings))
  const films = Array.from({ length: 60 }, (_, at) => ({
    id: at,
    title: `The film ${at}`,
    year: 1950 + at,
    size: '@'.repeat(50),
  }))
  await from.settle(t, from.post('/indexes/films/documents?primaryKey=id', films))
  await from.settle(t, from.post('/indexes/notes/documents', '[{"id":1,"n":12345678901234567890,"f":1.0}]'))
  const accepted = await from.post('/export', {
    url: `${to.url}/`,
    apiKey: 'a-key-of-thirty-characters-or-so',
    payloadSize: 2048,
    indexes: { 'fil*': { filter: 'year >= 1960' }, notes: {} },
  })
  t.is(accepted.status, 200)
  const task = await from.settle(t, Promise.resolve({ ...accepted, status: 202 }))
  t.like(task, { type: 'export', status: 'succeeded', indexUid: null })
  t.deepEqual(task.details as object, {
    url: `${to.url}/`,
    apiKey: 'a-keyXXXXXX...',
    payloadSize: '2 KiB',
    indexes: {
      films: { filter: 'year >= 1960', overrideSettings: false, matched_documents: 50 },
      notes: { filter: null, overrideSettings: false, matched_documents: 1 },
    },
  })
  t.notRegex(String(task.details.apiKey), /thirty/)
  const sent = (await to.get('/tasks?types=documentAdditionOrUpdate&limit=100')).body
  t.true(sent.total >= 4, `${sent.total} uploads`)
  for (const { uid } of sent.results)
    await to.settle(
      t,
      Promise.resolve({ ...accepted, status: 202, body: { ...accepted.body, taskUid: Number(uid) } }),
    )
  t.is((await to.get('/indexes/films/documents?limit=0')).body.total, 50)
  t.like((await to.get('/indexes/films/settings')).body, settings)
  t.is((await to.get('/indexes/films')).body.primaryKey, 'id')
  t.is(
    (await to.get('/indexes/notes/documents/1')).bytes.toString(),
    '{"id":1,"n":12345678901234567890,"f":1.0}',
  )
})

test('an export overwrites the settings of an existing index only if asked to', async (t) => {
  const [from, to] = await Promise.all([startServer(t, local), startServer(t)])
  await from.settle(t, from.patch('/indexes/films/settings', { stopWords: ['a'] }))
  await to.settle(t, to.patch('/indexes/films/settings', { stopWords: ['b'] }))
  const run = async (body: object): Promise<unknown> => {
    const accepted = await from.post('/export', { url: to.url, ...body })
    await from.settle(t, Promise.resolve({ ...accepted, status: 202 }))
    const { taskUid } = (await to.post('/indexes/films/documents', [{ id: 1 }])).body
    await to.settle(t, Promise.resolve({ ...accepted, status: 202, body: { ...accepted.body, taskUid } }))
    return (await to.get('/indexes/films/settings/stop-words')).bytes.toString()
  }
  t.is(await run({}), '["b"]')
  t.is(await run({ indexes: { films: { overrideSettings: true } } }), '["a"]')
})

test('an export that its target refuses, or to an address that is not allowed, fails by its code', async (t) => {
  const strict = createServer((_, answer) => void answer.writeHead(403).end('{}'))
  await new Promise<void>((resolve) => strict.listen(0, '127.0.0.1', resolve))
  t.teardown(() => void strict.close())
  const url = `http://127.0.0.1:${(strict.address() as AddressInfo).port}`
  const [server, guarded] = await Promise.all([startServer(t, local), startServer(t)])
  const codeOf = async (one: typeof server, body: object): Promise<unknown> => {
    await one.settle(t, one.post('/indexes/films/documents', [{ id: 1 }]))
    const { taskUid } = (await one.post('/export', body)).body
    for (;;) {
      const { body: task } = await one.get(`/tasks/${taskUid}`)
      if (task.status === 'failed' || task.status === 'succeeded') return task.error?.code ?? task.status
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
  t.is(await codeOf(server, { url }), 'remote_invalid_api_key')
  t.is(await codeOf(guarded, { url }), 'remote_could_not_send_request')
  t.is(await codeOf(server, {}), 'remote_could_not_send_request')
  t.is(await codeOf(server, { url, indexes: { 'none*': {} } }), 'succeeded')
  for (const [body, code] of [
    [{ url: 3 }, 'invalid_export_url'],
    [{ apiKey: 3 }, 'invalid_export_api_key'],
    [{ payloadSize: 'much' }, 'invalid_export_payload_size'],
    [{ indexes: { 'a b': {} } }, 'bad_request'],
    [{ indexes: { a: { overrideSettings: 1 } } }, 'invalid_export_index_override_settings'],
  ] as const)
    t.is((await server.post('/export', body)).body.code, code, JSON.stringify(body))
})
