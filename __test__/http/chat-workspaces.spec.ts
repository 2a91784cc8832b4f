/** Workspaces of chats: routes, settings and their checks. */
import test from 'ava'
import { checkRefusals, type Refusal } from '../support/refusals.js'
import { startServer } from '../support/server.js'

const features = ['chatCompletions'] as const

const promptNames = [
  'system',
  'searchDescription',
  'searchQParam',
  'searchFilterParam',
  'searchIndexUidParam',
]

test('every route is refused while the feature is off', async (t) => {
  const server = await startServer(t)
  const code = 'feature_not_enabled'
  await checkRefusals(t, server, [
    { method: 'GET', path: '/chats', code },
    { method: 'GET', path: '/chats/w', code },
    { method: 'DELETE', path: '/chats/w', code },
    { method: 'GET', path: '/chats/w/settings', code },
    { method: 'PATCH', path: '/chats/w/settings', body: {}, code },
    { method: 'DELETE', path: '/chats/w/settings', code },
  ])
  const { body } = await server.post('/chats/w/chat/completions', { model: 'm', messages: [] })
  t.is(body.code, code)
})

/** The settings that the tests of the JavaScript SDK send. */
const sent = {
  source: 'openAi',
  orgId: 'some-org-id',
  projectId: 'some-project-id',
  apiVersion: 'some-api-version',
  deploymentId: 'some-deployment-id',
  baseUrl: 'https://baseurl.com',
  apiKey: 'sk-test-placeholder-api-key',
  prompts: { system: 'You are a helpful assistant.' },
}

test('a change creates a workspace, which is listed, read, reset and deleted', async (t) => {
  const server = await startServer(t, { features })
  const { status, body } = await server.patch('/chats/w/settings', sent)
  t.is(status, 200)
  const { prompts, ...others } = body as unknown as { readonly prompts: Readonly<Record<string, string>> }
  const { prompts: _, ...plain } = sent
  t.deepEqual(others, { ...plain, apiKey: 'sk-XXXXX...' } as never)
  t.deepEqual(Object.keys(prompts), promptNames)
  t.is(prompts.system, sent.prompts.system)
  t.regex(prompts.searchFilterParam ?? '', /EXISTS/)
  t.deepEqual((await server.get('/chats/w/settings')).body, body)

  await server.patch('/chats/a-b_1/settings', {})
  t.deepEqual((await server.get('/chats')).body, {
    results: [{ uid: 'a-b_1' }, { uid: 'w' }],
    ...{ offset: 0, limit: 20, total: 2 },
  } as never)
  t.deepEqual((await server.get('/chats?offset=1&limit=5')).body, {
    results: [{ uid: 'w' }],
    ...{ offset: 1, limit: 5, total: 2 },
  } as never)
  t.deepEqual((await server.get('/chats/w')).body, { uid: 'w' } as never)

  const reset = await server.delete('/chats/w/settings')
  t.is(reset.status, 200)
  t.like(reset.body, { source: 'openAi', orgId: null, baseUrl: null, apiKey: null })
  t.deepEqual((await server.get('/chats/w/settings')).body, reset.body)
  t.is((await server.get('/chats')).body.total, 2)
  t.is((await server.delete('/chats/w')).status, 204)
  await checkRefusals(
    t,
    server,
    (['GET', 'DELETE'] as const).flatMap((method) =>
      ['/chats/w', '/chats/w/settings'].map((path) => ({
        ...{ method, path, code: 'chat_not_found', status: 404, names: '`w`' },
      })),
    ),
  )
})

test('a change keeps what is absent and resets what is null', async (t) => {
  const server = await startServer(t, { features })
  const patch = async (body: object) =>
    (await server.patch('/chats/w/settings', body)).body as unknown as {
      readonly prompts: Readonly<Record<string, string>>
      readonly [key: string]: unknown
    }
  const fresh = await patch({})
  const changed = await patch({ orgId: 'o', prompts: { system: 's', searchQParam: 'q' } })
  t.deepEqual(changed, {
    ...fresh,
    orgId: 'o',
    prompts: { ...fresh.prompts, system: 's', searchQParam: 'q' },
  })
  t.deepEqual(await patch({ prompts: {} }), changed)
  t.is((await patch({ prompts: { system: null } })).prompts.system, fresh.prompts.system)
  t.is((await patch({})).prompts.searchQParam, 'q')
  t.deepEqual(await patch({ prompts: null, orgId: null, source: null }), fresh)
  t.is((await patch({ orgId: '' })).orgId, '')

  t.deepEqual((await patch({ limits: { rounds: 3 } })).limits, { rounds: 3, tokens: null })
  t.deepEqual((await patch({ limits: { tokens: 500 } })).limits, { rounds: 3, tokens: 500 })
  t.false('limits' in (await patch({ limits: { rounds: null, tokens: null } })))
})

test('API keys are masked by their length, and a mask that is sent back changes nothing', async (t) => {
  const server = await startServer(t, { features })
  const shown = async (body: object) => (await server.patch('/chats/w/settings', body)).body.apiKey
  for (const [length, mask] of [
    [9, 'XXX...'],
    [19, 'abXXXX...'],
    [29, 'abcXXXXX...'],
    [60, 'abcdeXXXXXX...'],
  ] as const) {
    const apiKey = 'abcdefghij'.repeat(6).slice(0, length)
    t.is(await shown({ apiKey }), mask)
    t.is(await shown({ apiKey: mask }), mask)
  }
  t.is(await shown({ apiKey: 'abcXXXXX...' }), 'abXXXX...', 'another text is a new key')
  t.is(await shown({ apiKey: null }), null)
})

const settings = (body: unknown, code: string, names: string): Refusal => ({
  ...{ method: 'PATCH', path: '/chats/w/settings', body, code, names },
})
const family = (name: string): string => `invalid_chat_completion_${name}`
const long = 'x'.repeat(65_537)

test('wrong settings are refused by name and create no workspace', async (t) => {
  const server = await startServer(t, { features })
  await checkRefusals(t, server, [
    settings({ source: 'gemini' }, 'bad_request', '`vLlm`'),
    settings({ source: 'vLlm' }, 'bad_request', '`baseUrl`'),
    settings({ source: 'vLlm', baseUrl: '' }, 'bad_request', '`baseUrl`'),
    settings(
      { source: 'azureOpenAi', baseUrl: 'https://a.example', deploymentId: 'd' },
      'bad_request',
      '`apiVersion`',
    ),
    settings({ unknown: 1 }, 'bad_request', 'unknown'),
    settings({ prompts: { unknown: '' } }, 'bad_request', 'unknown'),
    settings({ prompts: 'x' }, 'bad_request', '.prompts'),
    settings([], 'bad_request', 'object'),
    settings({ baseUrl: 'ftp://a' }, family('base_api'), 'ftp://a'),
    settings({ baseUrl: 'nowhere' }, family('base_api'), 'nowhere'),
    settings({ apiKey: 'a\nb' }, family('api_key'), 'header'),
    settings({ orgId: 'ö' }, family('org_id'), 'header'),
    settings({ apiKey: 'x'.repeat(4_097) }, family('api_key'), '4096'),
    settings({ prompts: { system: long } }, family('system_prompt'), '65537'),
    settings({ limits: { rounds: 21 } }, 'bad_request', '20'),
    settings({ limits: { rounds: 0 } }, 'bad_request', '.limits.rounds'),
    settings({ limits: { tokens: 0 } }, 'bad_request', '.limits.tokens'),
    { method: 'GET', path: '/chats?limit=-1', code: 'invalid_index_limit' },
    { method: 'GET', path: '/chats?offset=x', code: 'invalid_index_offset' },
    { method: 'GET', path: '/chats?page=1', code: 'bad_request', names: 'page' },
    { method: 'GET', path: '/chats/a%20b', code: 'invalid_index_uid', names: 'a b' },
    { method: 'DELETE', path: '/chats/%C3%BC', code: 'invalid_index_uid' },
    { method: 'PATCH', path: '/chats/a.b/settings', body: {}, code: 'invalid_index_uid' },
  ])
  t.is((await server.get('/chats')).body.total, 0)
})
