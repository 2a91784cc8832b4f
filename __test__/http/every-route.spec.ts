import test from 'ava'
import { actions } from '../../ts/auth/index.js'
import { buildServer, defaultHttpOptions, type Services } from '../../ts/http/index.js'
import { openLog } from '../../ts/telemetry/index.js'
import { startServer, type TestServer } from '../support/server.js'

const masterKey = 'a-master-key-of-20-b'

interface Route {
  readonly method: string
  readonly path: string
  /** Empty: the route is open to everyone. */
  readonly actions: readonly string[]
}

/** Routes that answer without a key. */
const openRoutes = 'GET /,GET /errors,GET /health,GET /ready,GET /openapi.json,GET /replication/wait'

async function routesOf(server: TestServer): Promise<readonly Route[]> {
  const { paths } = (await server.get('/openapi.json')).body as unknown as {
    readonly paths: Readonly<
      Record<
        string,
        Readonly<Record<string, { readonly security?: readonly { readonly Bearer: readonly string[] }[] }>>
      >
    >
  }
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { security }]) => ({
      method: method.toUpperCase(),
      path: path.replace('{indexUid}', 'boats').replace(/\{\w+\}/g, '1'),
      actions: security?.[0]?.Bearer ?? [],
    })),
  )
  const open = routes
    .filter(({ actions }) => actions.length === 0)
    .map(({ method, path }) => `${method} ${path}`)
  if (open.join() !== openRoutes || routes.length < 100)
    throw new Error(`${routes.length} routes, and these need no key: ${open}`)
  // This route answers 401 to wrong keys, and accepts keys without its action: __test__/mcp/rights.spec.ts.
  return routes.filter(({ path }) => path !== '/mcp')
}

const asked = (server: TestServer, { method, path }: Route, key: string | undefined) =>
  server.request(method, path, {
    headers: { authorization: key === undefined ? undefined : `Bearer ${key}` },
    ...(method === 'GET' || method === 'DELETE' ? {} : { body: '{}' }),
  })

async function keyFor(server: TestServer, allowed: readonly string[], indexes = ['*']): Promise<string> {
  const { body } = await server.post('/keys', { actions: allowed, indexes, expiresAt: null })
  return body.key
}

test('every route checks the key before anything else', async (t) => {
  const server = await startServer(t, { masterKey })
  for (const route of await routesOf(server)) {
    const what = `${route.method} ${route.path}`
    const none = await asked(server, route, undefined)
    const wrong = await asked(server, route, 'f'.repeat(64))
    if (route.actions.length === 0) t.is(none.status, 200, what)
    else
      t.deepEqual(
        [none.status, none.body.code, wrong.status, wrong.body.code],
        [401, 'missing_authorization_header', 403, 'invalid_api_key'],
        what,
      )
  }
})

test('every route accepts a key with its actions, and refuses a key that lacks one', async (t) => {
  const server = await startServer(t, { masterKey })
  const plain = actions.filter((action) => !action.includes('*'))
  for (const route of await routesOf(server)) {
    if (route.actions.length === 0) continue
    const what = `${route.method} ${route.path}`
    const fitting = await asked(server, route, await keyFor(server, route.actions))
    t.false([401, 403].includes(fitting.status), `${what}: ${route.actions} → ${fitting.status}`)
    for (const action of route.actions) {
      const isPart = (one: string) =>
        action.endsWith('.*') ? one.startsWith(action.slice(0, -1)) : one === action
      const key = await keyFor(
        server,
        plain.filter((one) => !isPart(one)),
      )
      const lacking = await asked(server, route, key)
      t.deepEqual([lacking.status, lacking.body.code], [403, 'invalid_api_key'], `${what} without ${action}`)
    }
  }
})

test('every route is served from an operation, and only six are open to everyone', async (t) => {
  const parts = ['engine', 'tasks', 'auth', 'features', 'webhooks', 'outbound', 'faults']
  // Adding a route destructures the services and calls only their listeners.
  const app = buildServer({
    ...Object.fromEntries(parts.map((name) => [name, {}])),
    instance: { onReplaced: () => undefined },
    tasks: { onChange: () => () => undefined },
    log: openLog({ level: 'OFF', mode: 'HUMAN' }),
    options: defaultHttpOptions,
    version: { pkgVersion: '0.0.0' },
  } as unknown as Services)
  const routes: { readonly route: string; readonly actions: readonly string[] | undefined }[] = []
  app.addHook('onRoute', ({ method, url, config }) => {
    routes.push({ route: `${method} ${url}`, actions: config?.operation?.actions })
  })
  await app.ready()
  await app.close()
  const named = (chosen: typeof routes) => chosen.map(({ route }) => route).sort()
  t.true(routes.length > 100, 'the routes are found at all')
  t.deepEqual(named(routes.filter(({ actions }) => actions === undefined)), [])
  const open = routes.filter(({ actions }) => actions?.length === 0)
  t.deepEqual(named(open), [
    'GET /',
    'GET /errors',
    'GET /health',
    'GET /openapi.json',
    'GET /ready',
    'GET /replication/wait',
  ])
})

test('a key limited to one index learns nothing about another, not even its existence', async (t) => {
  const server = await startServer(t, { masterKey })
  await server.settle(t, server.post('/indexes', { uid: 'boats' }))
  const key = await keyFor(server, ['*'], ['cars'])
  for (const route of await routesOf(server)) {
    if (!route.path.includes('/boats')) continue
    const existing = await asked(server, route, key)
    const missing = await asked(server, { ...route, path: route.path.replace('boats', 'ghost') }, key)
    const what = `${route.method} ${route.path}`
    t.is(existing.status, 403, what)
    t.is(existing.bytes.toString().replaceAll('boats', 'ghost'), missing.bytes.toString(), what)
  }
  const headers = { authorization: `Bearer ${key}` }
  for (const path of ['/indexes', '/stats', '/tasks', '/batches']) {
    t.notRegex((await server.get(path, { headers })).bytes.toString(), /boats/, path)
  }
  t.is((await server.get('/indexes', { headers })).body.total, 0)
  const swap = await server.post('/swap-indexes', [{ indexes: ['cars', 'boats'] }], { headers })
  t.is(swap.status, 403)
  const facets = { federation: { facetsByIndex: { boats: [] } }, queries: [] }
  t.is((await server.post('/multi-search', facets, { headers })).status, 403)
})
