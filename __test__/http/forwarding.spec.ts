import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import test from 'ava'
import { OutboundError, type PassedRequest } from '../../ts/outbound/index.js'
import type { Replicated } from '../../ts/replication/index.js'
import { checkError } from '../support/refusals.js'
import { alone } from '../support/replicated.js'
import { startServer } from '../support/server.js'

// A follower passes writes on to the leader, with the key of the client, and answers reads itself.

interface Passed extends Omit<PassedRequest, 'body'> {
  readonly body: string
}

/** A follower of a leader. @param failure of each request to the leader; null: it answers */
function follower(failure: OutboundError | null = null) {
  const passed: Passed[] = []
  const replicated: Replicated = {
    ...alone,
    figures: async () => ({
      ...{ role: 'follower', position: 1, unsentTransactions: 0, awaySeconds: 0, staleSeconds: 0 },
      ...{ leadConfirmed: null, writer: 'http://leader:7700/', replaceable: null, problem: null },
    }),
    isTooStale: () => false,
    position: async () => null,
    reaches: async () => true,
    leader: async () => ({ address: 'http://leader:7700/' }),
    peers: {
      call: () => Promise.reject(new OutboundError('unreachable', 'no leader')),
      async pass({ body, ...request }) {
        passed.push({ ...request, body: body === null ? '' : await text(body) })
        if (failure !== null) throw failure
        const headers = {
          'content-type': 'application/json',
          'x-siftd-position': 'here',
          connection: 'close',
        }
        return { status: 202, headers, body: Readable.from(['{"taskUid":7}']) }
      },
    },
  }
  return { passed, replicated }
}

test('a write reaches the leader with body, query and key, and its answer reaches the client', async (t) => {
  const { passed, replicated } = follower()
  const server = await startServer(t, { replicated, masterKey: 'a-master-key-of-16-bytes' })
  const headers = { authorization: 'Bearer of-the-client', 'content-type': 'application/x-ndjson' }
  const url = '/indexes/films/documents?primaryKey=id'
  const answer = await server.post(url, '{"id":1}\n', { headers })
  t.deepEqual([answer.status, answer.body], [202, { taskUid: 7 } as never])
  const [{ method, url: target, body, headers: sent }] = passed as [Passed]
  t.deepEqual([method, target, body], ['POST', `http://leader:7700${url}`, '{"id":1}\n'])
  t.like(sent, { ...headers, 'x-siftd-hop': '1' })
  t.is(passed.length, 1)
})

test('reads stay here, and a request is passed on a bounded number of times', async (t) => {
  const { passed, replicated } = follower()
  const server = await startServer(t, { replicated })
  t.is((await server.get('/indexes')).status, 200)
  t.is((await server.post('/multi-search', { queries: [] })).status, 200)
  for (const hops of ['3', 'x'])
    checkError(
      t,
      await server.post('/indexes', { uid: 'films' }, { headers: { 'x-siftd-hop': hops } }),
      503,
      'bucket_unavailable',
    )
  checkError(t, await server.get('/tasks/3'), 404, 'task_not_found')
  t.deepEqual(passed, [])
})

for (const [fault, says] of [
  ['unreachable', /nothing was written; retry/],
  ['timeout', /the write may have happened; check GET \/tasks/],
] as const)
  test(`a leader that fails with ${fault} is asked once`, async (t) => {
    const { passed, replicated } = follower(new OutboundError(fault, 'no answer'))
    const server = await startServer(t, { replicated })
    const refused = await server.post('/indexes', { uid: 'films' })
    checkError(t, refused, 503, 'bucket_unavailable')
    t.regex(String(refused.body.message), says)
    t.is(passed.length, 1)
  })

test('a strong read of a task that only the leader knows is strong there too', async (t) => {
  const { replicated } = follower()
  const asked: (string | undefined)[] = []
  const server = await startServer(t, {
    replicated: {
      ...replicated,
      reaches: async () => false,
      peers: {
        ...replicated.peers,
        async call({ headers }) {
          asked.push(headers?.['x-siftd-read-consistency'])
          return { status: 200, headers: {}, body: Buffer.from('{"uid":3,"status":"succeeded"}') }
        },
      },
    },
  })
  const strong = { headers: { 'x-siftd-read-consistency': 'strong' } }
  t.is((await server.get('/tasks/3', strong)).body.status, 'succeeded')
  t.is((await server.get('/tasks/3')).status, 200)
  t.deepEqual(asked, ['strong', undefined])
})

test('a task that arrives while the follower catches up is answered here', async (t) => {
  const { replicated } = follower()
  let leader = await replicated.leader()
  const server = await startServer(t, {
    replicated: {
      ...replicated,
      leader: async () => leader,
      async catchesUp() {
        const before = leader
        leader = 'self'
        await server.post('/indexes', { uid: 'films' })
        leader = before
        return true
      },
    },
  })
  t.like((await server.get('/tasks/0')).body, { uid: 0, indexUid: 'films' })
})

test('an answer to a strong read is held until the log has all of it', async (t) => {
  const { replicated } = follower()
  let hasAll = true
  const settles = async (): Promise<boolean> => hasAll
  const server = await startServer(t, { replicated: { ...replicated, leader: async () => 'self', settles } })
  const strong = { headers: { 'x-siftd-read-consistency': 'strong' } }
  t.is((await server.get('/indexes', strong)).status, 200)
  hasAll = false
  checkError(t, await server.get('/indexes', strong), 503, 'follower_behind')
  checkError(t, await server.get('/indexes/films', strong), 404, 'index_not_found')
  t.is((await server.get('/indexes')).status, 200)
})

for (const [name, headers, isStrong, status] of [
  ['a read waits for nothing by default', {}, false, 200],
  [
    'a strong read is refused if this server may lack writes',
    { 'x-siftd-read-consistency': 'strong' },
    false,
    503,
  ],
  ['every read is strong if the operator wants it', {}, true, 503],
  ['a client can do without', { 'x-siftd-read-consistency': 'eventual' }, true, 200],
  ['an unknown consistency is a mistake', { 'x-siftd-read-consistency': 'weak' }, false, 400],
] as const)
  test(name, async (t) => {
    const { replicated } = follower()
    const server = await startServer(t, {
      replicated: { ...replicated, isStrong, catchesUp: async () => false },
    })
    t.is((await server.get('/indexes', { headers })).status, status)
    t.is((await server.get('/health', { headers })).status, 200)
  })
