import test, { type ExecutionContext } from 'ava'
import type { Engine } from '../../ts/engine/index.js'
import { startServer, type TestServer } from '../support/server.js'
import { connect, startFilms } from './world.js'

const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
}

interface Sent {
  readonly method?: string
  readonly params?: object
  readonly headers?: Readonly<Record<string, string | undefined>>
}

const rpc = (method: string, params: object = {}) => ({ jsonrpc: '2.0', id: 1, method, params })

const legacy = (server: TestServer, { method = 'tools/list', params = {}, headers = {} }: Sent) =>
  server.post('/mcp', rpc(method, params), { headers })

const modern = (server: TestServer, { method = 'tools/list', params = {}, headers = {} }: Sent) =>
  server.post('/mcp', rpc(method, { _meta: meta, ...params }), {
    headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...headers },
  })

test('the feature is off until it is switched on', async (t) => {
  const server = await startServer(t)
  const { status, body } = await legacy(server, {})
  t.deepEqual([status, body.code], [400, 'feature_not_enabled'])
  t.regex(body.message, /mcp route/)
  t.is((await server.patch('/experimental-features', { mcpRoute: 'x' })).status, 400)
  t.true((await server.patch('/experimental-features', { mcpRoute: true })).body.mcpRoute)
  t.is((await legacy(server, {})).status, 200)
  for (const method of ['GET', 'DELETE']) {
    const answer = await server.request(method, '/mcp')
    t.deepEqual([answer.status, answer.headers.allow], [405, 'POST'], method)
  }
})

test('initialize negotiates the version, and notifications have no answer', async (t) => {
  const server = await startServer(t, { features: ['mcpRoute'] })
  const opened = async (protocolVersion: string) =>
    (
      await legacy(server, {
        method: 'initialize',
        params: { protocolVersion, capabilities: {}, clientInfo: { name: 'test', version: '1' } },
      })
    ).body.result as { protocolVersion: string; capabilities: object; serverInfo: object }
  for (const version of ['2025-03-26', '2025-06-18', '2025-11-25'])
    t.is((await opened(version)).protocolVersion, version)
  const other = await opened('1999-01-01')
  t.is(other.protocolVersion, '2025-11-25')
  t.deepEqual(Object.keys(other.capabilities), ['tools', 'resources', 'prompts'])
  t.like(other.serverInfo, { name: 'siftd' })
  const noted = await server.post('/mcp', { jsonrpc: '2.0', method: 'notifications/initialized' })
  t.deepEqual([noted.status, noted.bytes.length], [202, 0])
})

test('the revision 2026-07-28 is served without a handshake', async (t) => {
  const server = await startServer(t, { features: ['mcpRoute'] })
  const { status, body } = await modern(server, { method: 'server/discover' })
  const result = body.result as Record<string, unknown>
  t.is(status, 200)
  t.is(result.resultType, 'complete')
  t.true((result.supportedVersions as readonly string[]).includes('2026-07-28'))
  t.deepEqual([result.ttlMs, result.cacheScope], [300_000, 'private'])
  const listed = (await modern(server, {})).body.result as Record<string, unknown>
  t.deepEqual([listed.resultType, listed.ttlMs, listed.cacheScope], ['complete', 60_000, 'private'])
})

test('wrong envelopes, headers and methods have the codes of the protocol', async (t) => {
  const server = await startServer(t, { features: ['mcpRoute'] })
  const { 'io.modelcontextprotocol/clientCapabilities': _, ...incomplete } = meta
  const future = { ...meta, 'io.modelcontextprotocol/protocolVersion': '2099-01-01' }
  const cases: readonly (readonly [
    string,
    () => Promise<{ status: number; body: { error: unknown } }>,
    number,
    number,
  ])[] = [
    ['no capabilities', () => modern(server, { params: { _meta: incomplete } }), 400, -32_602],
    [
      'future version',
      () => modern(server, { params: { _meta: future }, headers: { 'mcp-protocol-version': '2099-01-01' } }),
      400,
      -32_022,
    ],
    ['other method', () => modern(server, { headers: { 'mcp-method': 'ping' } }), 400, -32_020],
    ['unknown modern method', () => modern(server, { method: 'films/burn' }), 404, -32_601],
    ['unknown legacy method', () => legacy(server, { method: 'films/burn' }), 200, -32_601],
    [
      'unknown version of a legacy request',
      () => legacy(server, { headers: { 'mcp-protocol-version': '1999-01-01' } }),
      400,
      -32_000,
    ],
    [
      'subscription',
      () => modern(server, { method: 'subscriptions/listen', params: { _meta: meta, notifications: {} } }),
      200,
      -32_603,
    ],
  ]
  for (const [what, send, status, code] of cases) {
    const answer = await send()
    t.deepEqual([answer.status, (answer.body.error as { code: number }).code], [status, code], what)
  }
})

test('hostile bodies are refused without an error of the server', async (t) => {
  const server = await startFilms(t)
  const call = (args: unknown) => rpc('tools/call', { name: 'searchInIndexes', arguments: args as object })
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
  const bodies: readonly unknown[] = [
    '',
    'null',
    '1',
    '"x"',
    '[]',
    '{}',
    '{"jsonrpc":"2.0"',
    deep,
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${deep}}`,
    { jsonrpc: '1.0', id: 1, method: 'tools/list' },
    { jsonrpc: '2.0', id: {}, method: 'tools/list' },
    { jsonrpc: '2.0', id: 1, method: 7 },
    { jsonrpc: '2.0', id: 1, method: '__proto__' },
    { jsonrpc: '2.0', id: 1, result: {} },
    rpc('tools/call', { name: '__proto__', arguments: {} }),
    rpc('tools/call', { name: 'constructor', arguments: {} }),
    rpc('tools/call', { name: 'x'.repeat(100_000) }),
    rpc('tools/call', { name: 'searchInIndexes', arguments: [] }),
    rpc('tools/call', []),
    rpc('resources/read', { uri: 'siftd://indexes/%' }),
    call({ queries: { length: 1e9 } }),
    call({ queries: [null, [], 3] }),
    call({ queries: [{ indexUid: { toString: 1 } }] }),
    call({ queries: [{ indexUid: 'films', filter: '('.repeat(50_000) }] }),
    call({ queries: [{ indexUid: 'films', q: 'x'.repeat(500_000) }] }),
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"searchInIndexes","arguments":{"__proto__":{"queries":[]}}}}',
    Array(50).fill(rpc('tools/list')),
  ]
  for (const body of bodies) {
    const shown = JSON.stringify(body)?.slice(0, 100)
    const { status, bytes } = await server.post('/mcp', body)
    t.true(status < 500, `${status} ${shown}`)
    t.false(
      /"code":"?(internal|-32603)/.test(bytes.toString()),
      `${shown}: ${bytes.toString().slice(0, 300)}`,
    )
  }
  t.is((await server.post('/mcp', 'x'.repeat(5_000_000))).status, 413)
  t.is(
    (await server.post('/mcp', rpc('tools/list'), { headers: { 'content-type': 'text/plain' } })).status,
    415,
  )
  t.is((await legacy(server, {})).status, 200)
})

test('only pages of this machine and allowed origins may call', async (t) => {
  const server = await startServer(t, {
    features: ['mcpRoute'],
    mcpAllowedOrigins: ['https://agents.example.com'],
  })
  const asked = (origin: string | undefined, path = '/mcp') =>
    server.post(path, rpc('tools/list'), { headers: { origin } })
  const allowed = [
    'http://localhost:3000',
    'http://127.0.0.1',
    'http://[::1]:8080',
    'http://app.localhost',
    'https://agents.example.com',
  ]
  for (const origin of allowed) {
    const { status, headers } = await asked(origin)
    t.deepEqual([status, headers['access-control-allow-origin']], [200, origin])
    t.regex(String(headers.vary), /origin/i)
  }
  t.is((await asked(undefined)).status, 200)
  const refused = [
    'https://evil.example',
    'null',
    'http://localhost.evil.example',
    'http://127.0.0.1.evil.example',
    'https://agents.example.com.evil.example',
    'http://10.0.0.1',
  ]
  for (const origin of refused)
    for (const path of ['/mcp', '/mcp/', '//mcp', '/mcp?x=1', '/%6dcp', '/%6D%63%70/?x=1']) {
      const { status, headers } = await asked(origin, path)
      t.deepEqual([status, headers['access-control-allow-origin']], [403, undefined], `${origin} ${path}`)
    }
  const preflight = (origin: string) =>
    server.request('OPTIONS', '/mcp', {
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'mcp-protocol-version',
      },
    })
  t.is((await preflight('https://evil.example')).status, 403)
  const { status, headers } = await preflight('http://localhost:3000')
  t.is(status, 200)
  t.is(headers['access-control-allow-origin'], 'http://localhost:3000')
  t.is(headers['access-control-allow-headers'], 'mcp-protocol-version')
  t.is((await server.get('/health', { headers: { origin: 'https://evil.example' } })).status, 200)
})

test('any origin may call if the operator allows it', async (t) => {
  const server = await startServer(t, { features: ['mcpRoute'], mcpAllowedOrigins: '*' })
  const { status, headers } = await legacy(server, { headers: { origin: 'https://a.example' } })
  t.deepEqual([status, headers['access-control-allow-origin']], [200, 'https://a.example'])
})

test('a call that is cancelled stops its search', async (t) => {
  let [started, stopped] = [0, 0]
  const endless: Engine['multiSearch'] = (_requests, _federation, stop) => {
    started += 1
    return new Promise((_, reject) => {
      stop?.addEventListener('abort', () => {
        stopped += 1
        reject(new Error('stopped'))
      })
    })
  }
  const server = await startFilms(t, {
    wrapEngine: (engine) =>
      new Proxy(engine, {
        get(target, name) {
          const value: unknown = Reflect.get(target, name)
          if (name === 'multiSearch') return endless
          return typeof value === 'function' ? value.bind(target) : value
        },
      }),
  })
  for (const era of ['legacy', 'modern'] as const) {
    const client = await connect(t, server, { era })
    const abort = new AbortController()
    const call = client.callTool(
      { name: 'searchInIndexes', arguments: { queries: [{ indexUid: 'films' }] } },
      { signal: abort.signal },
    )
    const before = stopped
    await until(t, () => started > before)
    if (era === 'legacy') await client.close()
    abort.abort()
    await t.throwsAsync(call, undefined, era)
    await until(t, () => stopped > before)
  }
  t.is(stopped, 2)
})

test('a batch that cancels its own call is answered', async (t) => {
  const server = await startFilms(t)
  const call = rpc('tools/call', { name: 'listIndexes', arguments: {} })
  const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }
  for (const batch of [
    [call, cancel],
    [cancel, call],
  ]) {
    const { status, bytes } = await server.post('/mcp', batch)
    t.is(status, 200)
    t.like(JSON.parse(bytes.toString()), { id: 1, result: { isError: undefined } })
  }
  const { status, bytes } = await server.post('/mcp', [cancel])
  t.deepEqual([status, bytes.length], [202, 0])
})

async function until(t: ExecutionContext, isTrue: () => boolean): Promise<void> {
  const deadline = Date.now() + 60_000
  while (!isTrue()) {
    if (Date.now() > deadline) return t.fail('it did not happen in time')
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

test('many clients at once are answered', async (t) => {
  const server = await startFilms(t)
  const answers = await Promise.all(
    Array.from({ length: 1000 }, (_, at) =>
      legacy(server, {
        method: 'tools/call',
        params: { name: 'searchInIndexes', arguments: { queries: [{ indexUid: 'films', q: `a${at % 7}` }] } },
      }),
    ),
  )
  t.deepEqual([...new Set(answers.map(({ status }) => status))], [200])
  t.true(answers.every(({ body }) => (body.result as { isError?: boolean }).isError !== true))
})
