import { createHmac } from 'node:crypto'
import test from 'ava'
import type { Replicated } from '../../ts/replication/index.js'
import { checkError } from '../support/refusals.js'
import { alone } from '../support/replicated.js'
import { startServer } from '../support/server.js'

/** A follower at position 1, and the positions requested from it. */
function follower() {
  const asked: string[] = []
  const replicated: Replicated = {
    ...alone,
    figures: async () => ({
      role: 'follower',
      position: 1,
      unsentTransactions: 0,
      awaySeconds: 0,
      staleSeconds: 0,
      leadConfirmed: null,
      writer: null,
      replaceable: null,
      problem: null,
    }),
    isTooStale: () => false,
    position: async () => null,
    async reaches(position) {
      asked.push(position)
      return position === 'none' ? null : position === '1'
    },
  }
  return { asked, replicated }
}

test('a request waits for its position only after its key was accepted', async (t) => {
  const { asked, replicated } = follower()
  const server = await startServer(t, { replicated, masterKey: 'a-master-key-of-16-bytes' })
  const at = (position: string, authorization?: string) => ({
    headers: {
      'x-siftd-position': position,
      ...(authorization !== undefined && { authorization }),
    },
  })
  checkError(t, await server.get('/indexes', at('2', 'Bearer wrong')), 403, 'invalid_api_key')
  const keyless = { headers: { 'x-siftd-position': '2', authorization: undefined } }
  checkError(t, await server.get('/indexes', keyless), 401, 'missing_authorization_header')
  t.is((await server.get('/health', keyless)).status, 200)
  t.deepEqual(asked, [])

  t.is((await server.get('/indexes', at('1'))).status, 200)
  checkError(t, await server.get('/indexes', at('2')), 503, 'follower_behind')
  checkError(t, await server.post('/multi-search', { queries: [] }, at('2')), 503, 'follower_behind')
  checkError(t, await server.get('/indexes', at('none')), 400, 'bad_request')
  t.deepEqual(asked, ['1', '2', '2', 'none'])
})

test('a strong read has the rights that its key has at the end of the log', async (t) => {
  const masterKey = 'a-master-key-of-16-bytes'
  const uid = '6062abda-a5aa-4414-ac91-ecd7944c0f8d'
  const key = createHmac('sha256', masterKey).update(uid).digest('hex')
  let change: () => Promise<unknown> = async () => undefined
  const catchesUp = async () => {
    await change()
    return true
  }
  const { replicated } = follower()
  const server = await startServer(t, {
    replicated: { ...replicated, leader: alone.leader, catchesUp },
    masterKey,
  })
  const read = (consistency: string) =>
    server.get('/stats', {
      headers: { 'x-siftd-read-consistency': consistency, authorization: `Bearer ${key}` },
    })
  change = () => server.post('/keys', { uid, actions: ['stats.get'], indexes: ['*'], expiresAt: null })
  checkError(t, await read('eventual'), 403, 'invalid_api_key')
  t.is((await read('strong')).status, 200)
  change = () => server.delete(`/keys/${uid}`)
  t.is((await read('eventual')).status, 200)
  checkError(t, await read('strong'), 403, 'invalid_api_key')
})

for (const [method, url, body, status, position] of [
  ['POST', '/indexes', { uid: 'films' }, 202, 'here'],
  ['GET', '/tasks/0', null, 200, 'here'],
  ['GET', '/tasks', null, 200, null],
  ['GET', '/indexes', null, 200, null],
  ['POST', '/multi-search', { queries: [] }, 200, null],
  ['DELETE', '/tasks/0', null, 405, null],
] as const)
  test(`${method} ${url} answers ${position === null ? 'without' : 'with'} a position`, async (t) => {
    const { replicated } = follower()
    const leading = { ...replicated, leader: alone.leader, position: async () => 'here' }
    const server = await startServer(t, { replicated: leading })
    await server.post('/indexes', { uid: 'first' })
    const answer = await server.request(method, url, body === null ? {} : { body })
    t.deepEqual([answer.status, answer.headers['x-siftd-position'] ?? null], [status, position])
  })
