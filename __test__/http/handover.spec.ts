import test from 'ava'
import type { Replicated } from '../../ts/replication/index.js'
import { checkError } from '../support/refusals.js'
import { alone } from '../support/replicated.js'
import { startServer } from '../support/server.js'

// POST /replication/handover lets another server of the bucket lead.

/** A leader whose handovers end like this, and the addresses that they were asked for. */
function leader(kind: 'done' | 'late' | null) {
  const asked: (string | null)[] = []
  const replicated: Replicated = {
    ...alone,
    figures: async () => ({
      ...{ role: 'writer', position: 1, unsentTransactions: 0, awaySeconds: 0, staleSeconds: 0 },
      ...{ leadConfirmed: true, writer: null, replaceable: false, problem: null },
    }),
    isTooStale: () => false,
    position: async () => null,
    reaches: async () => true,
    async handOver(to) {
      asked.push(to)
      const address = to ?? 'http://two:7700'
      return kind && { kind, to: { id: 'two', address, nudge: () => undefined } }
    },
  }
  return { asked, replicated }
}

const path = '/replication/handover'

test('a handover answers with the address of the next leader', async (t) => {
  const { asked, replicated } = leader('done')
  const server = await startServer(t, { replicated })
  const to = 'http://three:7700'
  t.like(await server.post(path, {}), { status: 200, body: { to: 'http://two:7700' } })
  t.like(await server.post(path, { to }), { status: 200, body: { to } })
  t.deepEqual(asked, [null, to])
  for (const wrong of [{ to: 'three' }, { to: 3 }, { from: to }])
    checkError(t, await server.post(path, wrong), 400, 'bad_request')
  t.is(asked.length, 2)
})

for (const [name, kind, says] of [
  [
    'without a candidate',
    null,
    /no server can take over at http:\/\/two:7700: it must run with --candidate yes/,
  ],
  ['to a server that is late', 'late', /http:\/\/two:7700 did not take over in time/],
] as const)
  test(`a handover ${name} is refused with the reason`, async (t) => {
    const server = await startServer(t, { replicated: leader(kind).replicated })
    const refused = await server.post(path, { to: 'http://two:7700' })
    checkError(t, refused, 409, 'no_successor')
    t.regex(String(refused.body.message), says)
  })

test('a handover needs a bucket, and a key for all indexes', async (t) => {
  const server = await startServer(t, { masterKey: 'a-master-key-of-16-bytes' })
  checkError(t, await server.post(path, {}), 400, 'feature_not_enabled')
  const limited = await server.post('/keys', { actions: ['*'], indexes: ['films'], expiresAt: null })
  const headers = { authorization: `Bearer ${limited.body.key}` }
  checkError(t, await server.post(path, {}, { headers }), 403, 'invalid_api_key')
})
