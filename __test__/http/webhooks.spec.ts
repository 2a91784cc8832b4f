import test from 'ava'
import { startReceiver } from '../support/receiver.js'
import { checkError, checkRefusals } from '../support/refusals.js'
import { startServer } from '../support/server.js'

const url = 'https://hook.example/tasks?x=1'
const nobody = '4bc0887a-0e41-4f3b-935d-0c451dcee9c8'
const instance = '00000000-0000-0000-0000-000000000000'

test('a webhook is created, changed header by header, and deleted', async (t) => {
  const server = await startServer(t)
  const { status, body } = await server.post('/webhooks', { url, headers: { 'x-a': '1', 'x-b': '2' } })
  t.is(status, 201)
  t.deepEqual(Object.keys(body), ['uuid', 'isEditable', 'url', 'headers'])
  t.deepEqual([body.isEditable, body.url], [true, url])
  const path = `/webhooks/${body.uuid}`
  const { body: patched } = await server.patch(path, { headers: { 'x-a': null, 'x-c': '3' } })
  t.deepEqual(patched, { ...body, headers: { 'x-b': '2', 'x-c': '3' } })
  t.deepEqual((await server.get(path)).body, patched)
  t.deepEqual((await server.get('/webhooks')).body, { results: [patched] } as never)
  t.deepEqual((await server.patch(path, { headers: null })).body.headers, {})
  t.is((await server.delete(path)).status, 204)
  checkError(t, await server.get(path), 404, 'webhook_not_found')
})

test('secrets of webhooks are never shown', async (t) => {
  const server = await startServer(t)
  // The API masks a secret by `XXX...`, after a prefix that grows with the length of the secret.
  const shown = [
    ['Bearer short', 'Bearer XXX...'],
    ['Bearer a-token-of-17-byt', 'Bearer a-XXXX...'],
    ['a-secret-of-25-characters', 'a-sXXXXX...'],
    [`Bearer ${'s'.repeat(40)}`, 'Bearer sssssXXXXXX...'],
  ] as const
  for (const [sent, masked] of shown) {
    const { body } = await server.post('/webhooks', { url, headers: { AuthorizatioN: sent } })
    t.deepEqual(body.headers, { AuthorizatioN: masked })
  }
})

test('the user of a URL is masked, and kept when the mask is sent back', async (t) => {
  const receiver = await startReceiver(t)
  const secret = receiver.url.replace('//', '//ferry:harbour@')
  const masked = receiver.url.replace('//', '//XXX...@')
  const server = await startServer(t, {
    allowedNetworks: ['127.0.0.0/8'],
    taskWebhook: { url: 'https://ferry:harbour@hook.example/', authorization: null },
  })
  const { body } = await server.post('/webhooks', { url: secret })
  t.is(body.url, masked)
  const path = `/webhooks/${body.uuid}`
  t.is((await server.patch(path, { url: masked })).body.url, masked)
  t.is((await server.get(path)).body.url, masked)
  const urls = (await server.get('/webhooks')).body.results.map((one) => (one as { url?: string }).url)
  t.deepEqual(urls.toSorted(), [masked, 'https://XXX...@hook.example/'])
  await server.settle(t, server.post('/indexes', { uid: 'ferries' }))
  await receiver.until(() => receiver.receipts.length > 0)
  t.is(receiver.receipts[0]?.headers.authorization, `Basic ${btoa('ferry:harbour')}`)
  const other = await server.patch(path, { url: 'https://hook.example/' })
  t.is(other.body.url, 'https://hook.example/')
})

test('the webhook of the launch options is listed and cannot be changed', async (t) => {
  const server = await startServer(t, { taskWebhook: { url, authorization: 'Bearer short' } })
  const { body } = await server.get('/webhooks')
  t.deepEqual(body.results as unknown, [
    { uuid: instance, isEditable: false, url, headers: { Authorization: 'Bearer XXX...' } },
  ])
  checkError(t, await server.delete(`/webhooks/${instance}`), 400, 'immutable_webhook')
  checkError(t, await server.patch(`/webhooks/${instance}`, { url }), 400, 'immutable_webhook')
})

test('invalid webhooks and webhooks beyond the limit are refused', async (t) => {
  const server = await startServer(t)
  const path = '/webhooks'
  const tooMany = Object.fromEntries(Array.from({ length: 201 }, (_, i) => [`x-${i}`, 'y']))
  await checkRefusals(t, server, [
    { path, body: {}, code: 'invalid_webhook_url' },
    { path, body: { url: null }, code: 'invalid_webhook_url' },
    { path, body: { url: '' }, code: 'invalid_webhook_url' },
    { path, body: { url: 'not absolute' }, code: 'invalid_webhook_url', names: 'not absolute' },
    { path, body: { url, headers: { 'a b': 'x' } }, code: 'invalid_webhook_headers', names: 'a b' },
    { path, body: { url, headers: { a: 'x\ny' } }, code: 'invalid_webhook_headers' },
    { path, body: { url, headers: { a: 3 } }, code: 'invalid_webhook_headers' },
    { path, body: { url, headers: tooMany }, code: 'invalid_webhook_headers' },
    { path, body: { url, uuid: nobody }, code: 'immutable_webhook_uuid' },
    { path, body: { url, isEditable: true }, code: 'immutable_webhook_is_editable' },
    { path, body: { url, ghost: 1 }, code: 'bad_request' },
    { method: 'GET', path: `${path}/nope`, code: 'invalid_webhook_uuid', names: 'nope' },
    { method: 'PATCH', path: `${path}/nope`, body: { ghost: 1 }, code: 'bad_request' },
    { method: 'PATCH', path: `${path}/${nobody}`, body: {}, status: 404, code: 'webhook_not_found' },
    { method: 'DELETE', path: `${path}/${nobody}`, status: 404, code: 'webhook_not_found' },
  ])
  t.deepEqual((await server.get(path)).body.results, [])
  for (let i = 0; i < 20; i++) t.is((await server.post(path, { url })).status, 201)
  checkError(t, await server.post(path, { url }), 400, 'invalid_webhooks')
})

test('webhooks created at the same time are all stored, up to the limit', async (t) => {
  const server = await startServer(t)
  const answers = await Promise.all(Array.from({ length: 25 }, () => server.post('/webhooks', { url })))
  t.deepEqual(answers.map(({ status }) => status).sort(), [...Array(20).fill(201), ...Array(5).fill(400)])
  t.is((await server.get('/webhooks')).body.results.length, 20)
})

test('every URL that will be called must have the scheme http or https', async (t) => {
  const server = await startServer(t, { features: ['network', 'compositeEmbedders'] })
  const uuid = (await server.post('/webhooks', { url: 'HTTPS://example.com/hook' })).body.uuid
  const schemes = [
    'file:///etc/passwd',
    'gopher://127.0.0.1:6379/_',
    'ftp://example.com',
    'data:text/plain,x',
    'ws://a',
  ]
  for (const url of schemes) {
    const rest = { source: 'rest', url, request: '{{text}}', response: '{{embedding}}', dimensions: 2 }
    const halves = { source: 'composite', searchEmbedder: rest, indexingEmbedder: rest }
    const settings = {
      method: 'PATCH',
      path: '/indexes/a/settings/embedders',
      code: 'invalid_settings_embedders',
    }
    await checkRefusals(t, server, [
      { path: '/webhooks', body: { url }, code: 'invalid_webhook_url', names: url },
      {
        method: 'PATCH',
        path: `/webhooks/${uuid}`,
        body: { url },
        code: 'invalid_webhook_url',
        names: 'http',
      },
      { method: 'PATCH', path: '/network', body: { remotes: { r: { url } } }, code: 'invalid_network_url' },
      { ...settings, body: { e: rest }, names: url },
      { ...settings, body: { e: halves }, names: url },
    ])
  }
  t.is((await server.get(`/webhooks/${uuid}`)).body.url, 'HTTPS://example.com/hook')
  t.is((await server.get('/tasks')).body.total, 0)
  // The task of an export checks its target, as in the API.
  await server.settle(t, server.post('/indexes', { uid: 'a' }))
  const task = await server.settle(t, server.post('/export', { url: schemes[0] }))
  t.is(task.error.code, 'remote_could_not_send_request')
})
