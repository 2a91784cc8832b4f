/**
 * Requirements for object stores, tested with real ones. Rules:
 * 1. Objects are created once, overwritten, read completely and by ranges, listed in order over several pages, and
 *    deleted.
 * 2. The probe accepts a store with atomic creates, leaves no objects, and names the missing property of other stores.
 * 3. Permanent errors are `refused` with the reason of the store. Calls that may have happened are `isUnknown`.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import test, { type ExecutionContext } from 'ava'
import { BucketError, type ObjectStore, probe, UnfitStoreError } from '../../../ts/replication/index.js'
import { runCommand } from '../../support/command.js'
import { memoryStore, never, noRepeating, type Weakness } from '../../support/memory-store.js'
import {
  accessKeyId,
  bucket,
  secretAccessKey,
  startStore,
  storeAt,
  storeServer,
  storeServers,
} from '../../support/store-servers.js'
import { testNeeding } from '../../support/test-needing.js'

const keysIn = async (store: ObjectStore, prefix: string, after?: string): Promise<readonly string[]> => {
  const keys: string[] = []
  const options = after === undefined ? {} : { after }
  for await (const { key } of store.list(prefix, options)) keys.push(key)
  return keys
}

const oddKeys = ['a b+c', 'ä/ö ü', 'per%20cent', "quote'(1)!*", 'tilde~_-.', 'amp&=?#']

for (const name of Object.keys(storeServers) as (keyof typeof storeServers)[]) {
  const declare = testNeeding([storeServer(name)])

  declare(`${name}: objects are created once, read, listed and deleted`, async (t) => {
    t.timeout(600_000)
    const origin = await startStore(t, name)
    const store = storeAt(t, origin)
    const body = Buffer.from(Array.from({ length: 1000 }, (_, i) => i % 256))
    t.is(await store.create('log/1', body), 'created')
    t.is(await store.create('log/1', Buffer.from('other')), 'exists')
    t.deepEqual(await store.get('log/1', { bytesMax: 1000 }), body)
    t.deepEqual(await store.get('log/1', { bytesMax: 20, range: [250, 269] }), body.subarray(250, 270))
    t.deepEqual(await store.get('log/1', { bytesMax: 20, range: [990, 1009] }), body.subarray(990))
    t.deepEqual(await store.get('log/1', { bytesMax: 20, range: [1000, 1019] }), Buffer.alloc(0))
    await t.throwsAsync(store.get('log/1', { bytesMax: 999 }), { instanceOf: BucketError })
    t.is(await store.get('log/2', { bytesMax: 10 }), null)
    await store.put('log/1', Buffer.alloc(0))
    t.deepEqual(await store.get('log/1', { bytesMax: 10 }), Buffer.alloc(0))
    await store.delete('log/1')
    await store.delete('log/1')
    t.is(await store.get('log/1', { bytesMax: 10 }), null)
    t.is(await store.create('log/1', body), 'created', 'a deleted object can be created')

    for (const key of oddKeys) {
      t.is(await store.create(`odd/${key}`, Buffer.from(key)), 'created', key)
      t.is(String(await store.get(`odd/${key}`, { bytesMax: 100 })), key)
    }
    t.deepEqual([...(await keysIn(store, 'odd/'))].sort(), oddKeys.map((key) => `odd/${key}`).sort())
    const above = storeAt(t, origin, { url: `s3://${bucket}` })
    t.deepEqual(
      [await keysIn(above, 'log/'), await keysIn(above, 'some/prefix/log/')],
      [[], ['some/prefix/log/1']],
    )
  })

  declare(`${name}: lists longer than a page are in order`, async (t) => {
    t.timeout(600_000)
    const store = storeAt(t, await startStore(t, name))
    const keys = Array.from({ length: 1005 }, (_, i) => `log/${String(i).padStart(20, '0')}`)
    await Promise.all(keys.map((key) => store.put(key, Buffer.from('x'))))
    t.deepEqual(await keysIn(store, 'log/'), keys)
    t.deepEqual(await keysIn(store, 'log/', keys[1000]), keys.slice(1001))
    t.deepEqual(await keysIn(store, 'log/', keys.at(-1)), [])
  })

  declare(`${name}: the probe accepts it and leaves no objects`, async (t) => {
    t.timeout(600_000)
    const store = storeAt(t, await startStore(t, name))
    await t.notThrowsAsync(probe(store, noRepeating, never))
    t.deepEqual(await keysIn(store, ''), [])
  })

  declare(`${name}: a bucket that does not exist is refused`, async (t) => {
    t.timeout(600_000)
    const store = storeAt(t, await startStore(t, name), { url: 's3://none' })
    for (const ask of [() => store.create('a', Buffer.from('a')), () => store.get('a', { bytesMax: 9 })]) {
      const error = await t.throwsAsync(ask(), { instanceOf: BucketError })
      t.regex(error?.message ?? '', /NoSuchBucket/)
      t.is(error?.kind, 'refused')
    }
  })
}

testNeeding([storeServer('gofakes3')])(
  'siftd bucket check accepts a usable bucket and names the problem of others',
  async (t) => {
    t.timeout(600_000)
    const origin = await startStore(t, 'gofakes3')
    const env = { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey }
    for (const [url, exitCode, told] of [
      [`s3://${bucket}/here`, 0, /the bucket `tests` at 127\.0\.0\.1:\d+ creates objects atomically/],
      ['s3://none', 1, /NoSuchBucket/],
      ['https://none', 2, /`https:\/\/none` is no address of a bucket/],
      ['s3://ab', 2, /is no address of a bucket/],
      ['s3://-name', 2, /is no address of a bucket/],
      [`s3://${bucket}/../other`, 2, /must not contain/],
    ] as const) {
      const result = await runCommand(['bucket', 'check', url, '--endpoint', origin], '', env)
      t.is(result.code, exitCode, JSON.stringify(result))
      t.regex([...result.lines, ...result.errors].join('\n'), told)
    }
    const bare = await runCommand(['bucket', 'check', `s3://${bucket}`, '--endpoint', origin], '', {
      HOME: '/none',
      AWS_EC2_METADATA_DISABLED: 'true',
    })
    t.is(bare.code, 2)
    t.regex(
      bare.errors.join(),
      /AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set, and there is no file/,
    )
  },
)

testNeeding([storeServer('versitygw')])(
  'versitygw: a wrong secret is refused without showing it',
  async (t) => {
    const store = storeAt(t, await startStore(t, 'versitygw'), { secret: 'a wrong one' })
    const error = await t.throwsAsync(store.put('a', Buffer.from('a')), { instanceOf: BucketError })
    t.is(error?.kind, 'refused')
    t.regex(error?.message ?? '', /SignatureDoesNotMatch/)
    t.notRegex(error?.message ?? '', /wrong one/)
  },
)

const weaknesses: readonly (readonly [lack: RegExp, Weakness])[] = [
  [/no atomic create/, { createsLate: true }],
  [/no atomic create/, { createsAlways: true }],
  [/another object than the one|replaces it/, { overwrites: true }],
  [/does not list/, { listsLate: true }],
  [/does not give/, { givesLate: true }],
]

for (const [lack, weakness] of weaknesses)
  test(`the probe refuses a store that ${Object.keys(weakness)[0]}`, async (t) => {
    await t.throwsAsync(probe(memoryStore(weakness), noRepeating, never), {
      instanceOf: UnfitStoreError,
      message: lack,
    })
  })

const outcomes: readonly (readonly [status: number, body: string, kind: BucketError['kind']])[] = [
  [400, '<Error><Code>AuthorizationHeaderMalformed</Code><Message>m</Message></Error>', 'refused'],
  [403, '<Error><Code>AccessDenied</Code><Message>m</Message></Error>', 'refused'],
  [408, '', 'busy'],
  [409, '<Error><Code>ConditionalRequestConflict</Code><Message>m</Message></Error>', 'busy'],
  [429, 'slow down', 'busy'],
  [500, '<Error><Code>InternalError</Code><Message>m</Message></Error>', 'unanswered'],
  [502, '<html>', 'unanswered'],
  [503, '<Error><Code>SlowDown</Code><Message>m</Message></Error>', 'busy'],
  [501, '<Error><Code>NotImplemented</Code><Message>A header</Message></Error>', 'unanswered'],
]

for (const [status, body, kind] of outcomes)
  test(`a create answered with ${status} is ${kind}`, async (t) => {
    const store = storeAt(t, await answering(t, status, body))
    const error = await t.throwsAsync(store.create('log/1', Buffer.from('a')), { instanceOf: BucketError })
    t.is(error?.kind, kind)
    t.is(error?.isUnknown, kind !== 'refused')
    t.regex(error?.message ?? '', new RegExp(/<Code>(\w+)/.exec(body)?.[1] ?? String(status)))
  })

const lists: readonly string[] = [
  'no XML',
  '<ListBucketResult><Contents>',
  '<Other/>',
  '<ListBucketResult><Contents><Key>a</Key><Size>-1</Size></Contents></ListBucketResult>',
  '<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>%E0%A4%A</Key><Size>1</Size></Contents></ListBucketResult>',
]

for (const list of lists)
  test(`a list that is ${list} is malformed`, async (t) => {
    const store = storeAt(t, await answering(t, 200, list))
    const error = await t.throwsAsync(keysIn(store, ''), { instanceOf: BucketError })
    t.is(error?.kind, 'malformed')
  })

test('a call to an unreachable store has an unknown outcome', async (t) => {
  const store = storeAt(t, 'http://127.0.0.1:9')
  const error = await t.throwsAsync(store.create('a', Buffer.from('a')), { instanceOf: BucketError })
  t.is(error?.kind, 'unanswered')
})

for (const status of [301, 302, 307])
  test(`a ${status} redirect of a store is not followed`, async (t) => {
    const seen: string[] = []
    const elsewhere = await answering(t, 200, '', {}, (line) => seen.push(line))
    const store = storeAt(t, await answering(t, status, '', { location: `${elsewhere}/tests/a` }))
    for (const call of [
      () => store.put('a', Buffer.from('secret')),
      () => store.create('a', Buffer.from('secret')),
      () => store.get('a', { bytesMax: 9 }),
      () => keysIn(store, ''),
    ]) {
      const error = await t.throwsAsync(call, {
        instanceOf: BucketError,
        message: /redirects to another address/,
      })
      t.is(error.kind, 'refused')
    }
    t.deepEqual(seen, [])
  })

/** A server with the same answer for every request. @param met called with the first line of each request */
async function answering(
  t: ExecutionContext,
  status: number,
  body: string,
  headers: Readonly<Record<string, string>> = {},
  met: (line: string) => void = () => undefined,
): Promise<string> {
  const server = createServer((request, response) => {
    met(`${request.method} ${request.url}`)
    request.resume().on('end', () => response.writeHead(status, headers).end(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
