import test from 'ava'
import { PositionWatch, type Replicated } from '../../ts/replication/index.js'
import { checkError } from '../support/refusals.js'
import { alone } from '../support/replicated.js'
import { startServer } from '../support/server.js'

// GET /replication/wait answers as soon as the server has a later log record than the asked one.

const replicatedAt = (watch: PositionWatch): Replicated => ({
  ...alone,
  watch,
  figures: async () => ({
    ...{ role: 'writer', position: watch.position, unsentTransactions: 0, awaySeconds: 0, staleSeconds: 0 },
    ...{ leadConfirmed: true, writer: null, replaceable: false, problem: null },
  }),
  isTooStale: () => false,
  position: async () => null,
  reaches: async () => true,
})

test('a request waits for the next record, and needs no key', async (t) => {
  const watch = new PositionWatch()
  const server = await startServer(t, {
    replicated: replicatedAt(watch),
    masterKey: 'a-master-key-of-16-bytes',
  })
  const open = { headers: { authorization: undefined } }
  t.deepEqual((await server.get('/replication/wait', open)).body, { position: null } as never)
  watch.reached(7)
  t.deepEqual((await server.get('/replication/wait?after=6', open)).body, { position: 7 } as never)
  const waiting = server.get('/replication/wait?after=7', open)
  // The request is here before the record.
  await server.get('/health')
  watch.reached(6)
  watch.reached(8)
  t.deepEqual((await waiting).body, { position: 8 } as never)
  checkError(t, await server.get('/replication/wait?after=x', open), 400, 'bad_request')
})

test('a leader that does not reach the bucket gives no hints', async (t) => {
  const watch = new PositionWatch()
  watch.reached(7)
  const server = await startServer(t, { replicated: { ...replicatedAt(watch), isCutOff: () => true } })
  checkError(t, await server.get('/replication/wait?after=6'), 503, 'bucket_unavailable')
})

test('a server without a bucket has no position', async (t) => {
  const server = await startServer(t)
  t.deepEqual((await server.get('/replication/wait?after=1')).body, { position: null } as never)
})

test('a wait ends without a record after its time, at the end of the server, and at once if too many wait', async (t) => {
  const watch = new PositionWatch()
  watch.reached(3)
  t.is(await watch.beyond(3, 1), 3)
  const waiting = Array.from({ length: 1_000 }, () => watch.beyond(3))
  t.is(await watch.beyond(3), null)
  watch.close()
  t.deepEqual([...new Set(await Promise.all(waiting))], [3])
  t.is(await watch.beyond(3), 3)
})
