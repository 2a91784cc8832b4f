/**
 * Google Cloud Storage, with a fake server. Rules:
 * 1. No request has both `x-amz-` and `x-goog-` headers, which the store refuses.
 * 2. Requests are signed with the algorithm for `x-goog-` headers. Of two creates of a key, only the first succeeds.
 */
import { createHash, createHmac } from 'node:crypto'
import test from 'ava'
import type { Outbound } from '../../ts/outbound/index.js'
import { bucketAddress, s3Store } from '../../ts/replication/index.js'

type Call = Parameters<Outbound['call']>[0]

const secretAccessKey = 'a secret of tests'

/** Computes the signature of a sent request, as the documentation of the store describes it. */
function signatureOf({ method, url, headers = {} }: Call): string {
  const { pathname, search, host } = new URL(url)
  const given: Readonly<Record<string, string>> = { ...headers, host }
  const [, scope = '', names = ''] =
    /Credential=tester\/(\S+), SignedHeaders=(\S+),/.exec(given.authorization ?? '') ?? []
  const query = search.slice(1).split('&').sort().join('&')
  const lines = names.split(';').map((name) => `${name}:${given[name]}\n`)
  const canonical = `${method}\n${pathname}\n${query}\n${lines.join('')}\n${names}\n${given['x-goog-content-sha256']}`
  const hashed = createHash('sha256').update(canonical).digest('hex')
  const key = scope
    .split('/')
    .reduce<string | Buffer>(
      (key, part) => createHmac('sha256', key).update(part).digest(),
      `GOOG4${secretAccessKey}`,
    )
  return createHmac('sha256', key)
    .update(`GOOG4-HMAC-SHA256\n${given['x-goog-date']}\n${scope}\n${hashed}`)
    .digest('hex')
}

/** A fake store that refuses the same requests as Google's. */
function google() {
  const objects = new Map<string, Buffer>()
  const calls: Call[] = []
  const error = (status: number, code: string, message: string) => ({
    ...{ status, headers: {} },
    body: Buffer.from(`<Error><Code>${code}</Code><Message>${message}</Message></Error>`),
  })
  const answer = (call: Call) => {
    const { method, url, headers = {}, body } = call
    const names = Object.keys(headers)
    const has = (prefix: string) => names.some((name) => name.toLowerCase().startsWith(prefix))
    if (has('x-amz-') && has('x-goog-'))
      return error(400, 'ExcessHeaderValues', 'Requests cannot specify both x-amz and x-goog headers')
    if (!headers.authorization?.endsWith(`Signature=${signatureOf(call)}`))
      return error(403, 'SignatureDoesNotMatch', 'Access denied.')
    const key = new URL(url).pathname
    const found = objects.get(key)
    if (method === 'PUT') {
      if (headers['x-goog-if-generation-match'] === '0' && found !== undefined)
        return error(
          412,
          'PreconditionFailed',
          'At least one of the pre-conditions you specified did not hold.',
        )
      objects.set(key, Buffer.from(body as Uint8Array))
      return { status: 200, headers: {}, body: Buffer.alloc(0) }
    }
    if (method === 'DELETE') objects.delete(key)
    else if (found === undefined) return error(404, 'NoSuchKey', 'The specified key does not exist.')
    return { status: 200, headers: {}, body: method === 'GET' ? (found ?? Buffer.alloc(0)) : Buffer.alloc(0) }
  }
  const outbound = {
    call: async (call: Call) => {
      calls.push(call)
      return answer(call)
    },
  } as unknown as Outbound
  return { outbound, calls }
}

test('objects in Google Cloud Storage are created once, written, read and deleted', async (t) => {
  const { outbound, calls } = google()
  const store = s3Store({
    address: bucketAddress('s3://films/some prefix', 'https://storage.googleapis.com', null),
    credentials: async () => ({ accessKeyId: 'tester', secretAccessKey, sessionToken: null }),
    outbound,
  })
  const bytes = (text: string) => Buffer.from(text)
  t.is(await store.create('log/1', bytes('one')), 'created')
  t.is(await store.create('log/1', bytes('two')), 'exists')
  t.deepEqual(await store.get('log/1', { bytesMax: 10 }), bytes('one'))
  await store.put("it's (a) key", bytes('three'))
  t.deepEqual(await store.get("it's (a) key", { bytesMax: 10 }), bytes('three'))
  await store.delete('log/1')
  t.is(await store.get('log/1', { bytesMax: 10 }), null)
  t.is(calls.length, 7)
  for (const { headers = {} } of calls)
    t.false(Object.keys(headers).some((name) => name.startsWith('x-amz-')))
})
