import type { AddressInfo } from 'node:net'
import test from 'ava'
import { buildServer, defaultHttpOptions, type Services } from '../../ts/http/index.js'
import { openLog } from '../../ts/telemetry/index.js'

test('a request that arrives during shutdown is served, and its connection is closed', async (t) => {
  const parts = ['engine', 'tasks', 'auth', 'features', 'webhooks', 'outbound', 'faults']
  // Adding the routes calls no service, and the called route needs none.
  const app = buildServer({
    ...Object.fromEntries(parts.map((name) => [name, {}])),
    instance: { onReplaced: () => undefined },
    tasks: { onChange: () => () => undefined },
    log: openLog({ level: 'OFF', mode: 'HUMAN' }),
    options: defaultHttpOptions,
    version: { pkgVersion: '0.0.0' },
  } as unknown as Services)
  app.get('/late', async () => 'there')
  let late: Response | null = null
  app.addHook('preClose', async () => {
    const { port } = app.server.address() as AddressInfo
    late = await fetch(`http://127.0.0.1:${port}/late`)
    await late.arrayBuffer()
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  await app.close()
  t.like(late, { status: 200 })
  t.is((late as Response | null)?.headers.get('connection'), 'close')
})
