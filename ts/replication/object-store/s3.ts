import { createHash } from 'node:crypto'
import { AwsV4Signer } from 'aws4fetch'
import { type Outbound, type OutboundAnswer, OutboundError } from '../../outbound/index.js'
import type { BucketAddress } from './address.js'
import type { Credentials } from './credentials.js'
import { encoded, googleSigned } from './google-signature.js'
import { BYTES_PER_MS_MIN, CALL_MS, ERROR_BYTES_MAX, LIST_BYTES_MAX } from './limits.js'
import { BucketError, type ListedObject, type ObjectStore } from './object-store.js'
import { readError, readList } from './xml.js'

export interface S3Setup {
  readonly address: BucketAddress
  /** Called before each request, since credentials may expire. */
  readonly credentials: () => Promise<Credentials>
  readonly outbound: Outbound
}

/**
 * Opens an object store with the S3 protocol. Methods do not retry: only the caller knows if a call may be repeated.
 */
export function s3Store({ address, credentials, outbound }: S3Setup): ObjectStore {
  const { origin, root, region, prefix, bucket } = address
  const name = `the bucket \`${bucket}\` at ${new URL(origin).host}`
  const keys = new Map<string, ArrayBuffer>()
  // Google's store supports the protocol, but has its own headers for atomic creates and their signatures.
  const isGoogle = new URL(origin).hostname === 'storage.googleapis.com'
  const onlyIfAbsent: Readonly<Record<string, string>> = isGoogle
    ? { 'x-goog-if-generation-match': '0' }
    : { 'if-none-match': '*' }

  async function call(request: Call): Promise<OutboundAnswer> {
    const { method, path, query = {}, headers = {}, body, bytesMax = 0, signal } = request
    const url = new URL(`${origin}${root}${path.split('/').map(encoded).join('/')}`)
    for (const [key, value] of Object.entries(query)) url.searchParams.set(key, value)
    const given = {
      ...headers,
      ...(body !== undefined && { 'content-md5': hash('md5', body).digest('base64') }),
    }
    const signed = isGoogle
      ? googleSigned(
          { method, url, headers: given, bodyHash: hash('sha256', body).digest('hex') },
          await credentials(),
          Date.now(),
        )
      : await awsSigned(method, url, given, body)
    try {
      return await outbound.call({
        method,
        url: url.href,
        headers: signed,
        body,
        // A signature is valid for one host and path. Bodies contain documents and API keys, which must not go
        // elsewhere.
        redirects: 'refused',
        timeoutMs: CALL_MS + Math.ceil(((body?.length ?? 0) + bytesMax) / BYTES_PER_MS_MIN),
        answerBytesMax: Math.max(bytesMax, ERROR_BYTES_MAX),
        signal,
      })
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error
      const kind =
        error.fault === 'too_large'
          ? 'malformed'
          : ['url', 'refused', 'redirects'].includes(error.fault)
            ? 'refused'
            : 'unanswered'
      throw new BucketError(`${name}: ${error.message}`, kind, { cause: error })
    }
  }

  async function awsSigned(
    method: string,
    url: URL,
    headers: Readonly<Record<string, string>>,
    body: Uint8Array | undefined,
  ): Promise<Record<string, string>> {
    const { accessKeyId, secretAccessKey, sessionToken } = await credentials()
    const signed = await new AwsV4Signer({
      ...{ method, url: url.href, accessKeyId, secretAccessKey, service: 's3', region, cache: keys },
      headers: { ...headers, 'x-amz-content-sha256': hash('sha256', body).digest('hex') },
      ...(sessionToken !== null && { sessionToken }),
    }).sign()
    return Object.fromEntries(signed.headers)
  }

  /** Returns the error for an unsuccessful answer. */
  function failed(answer: OutboundAnswer, what: string): BucketError {
    const { status } = answer
    const error = readError(answer.body.toString())
    const reason = error === null ? `status ${status}` : `${error.code} (${status}): ${error.message}`
    const isBusy = status === 409 || status === 429 || status === 503 || status === 408
    const kind = isBusy ? 'busy' : status >= 500 ? 'unanswered' : 'refused'
    return new BucketError(`${name} does not ${what}: ${reason}`, kind)
  }

  async function write(
    key: string,
    body: Uint8Array,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal | undefined,
  ): Promise<OutboundAnswer> {
    const path = `${prefix}${key}`
    const given = { ...headers, 'content-type': 'application/octet-stream' }
    return call({ method: 'PUT', path, headers: given, body, signal })
  }

  return {
    name,
    async create(key, body, signal) {
      const answer = await write(key, body, onlyIfAbsent, signal)
      if (isSuccess(answer)) return 'created'
      if (answer.status === 412) return 'exists'
      throw failed(answer, `create \`${key}\``)
    },
    async put(key, body, signal) {
      const answer = await write(key, body, {}, signal)
      if (!isSuccess(answer)) throw failed(answer, `write \`${key}\``)
    },
    async get(key, { bytesMax, range, signal }) {
      const headers = range === undefined ? {} : { range: `bytes=${range[0]}-${range[1]}` }
      const path = `${prefix}${key}`
      const answer = await call({
        method: 'GET',
        path,
        headers,
        bytesMax,
        signal,
      })
      if (answer.status === 404 && readError(answer.body.toString())?.code !== 'NoSuchBucket') return null
      if (range !== undefined && answer.status === 416) return Buffer.alloc(0)
      if (!isSuccess(answer)) throw failed(answer, `give \`${key}\``)
      if (answer.body.length > bytesMax)
        throw new BucketError(`${name}: \`${key}\` is longer than ${bytesMax} bytes`, 'malformed')
      return answer.body
    },
    async *list(within, { after, signal } = {}) {
      let continuation: string | null = null
      do {
        const answer: OutboundAnswer = await call({
          method: 'GET',
          path: '',
          query: {
            'list-type': '2',
            'encoding-type': 'url',
            prefix: `${prefix}${within}`,
            ...(continuation !== null && { 'continuation-token': continuation }),
            ...(continuation === null && after !== undefined && { 'start-after': `${prefix}${after}` }),
          },
          bytesMax: LIST_BYTES_MAX,
          signal,
        })
        if (!isSuccess(answer)) throw failed(answer, `list \`${within}\``)
        const page = listOf(answer)
        yield* page.objects
        continuation = page.continuation
      } while (continuation !== null)
    },
    async delete(key, signal) {
      const path = `${prefix}${key}`
      const answer = await call({ method: 'DELETE', path, signal })
      if (!isSuccess(answer) && answer.status !== 404) throw failed(answer, `delete \`${key}\``)
    },
  }

  function listOf({ body }: OutboundAnswer): {
    readonly objects: readonly ListedObject[]
    readonly continuation: string | null
  } {
    try {
      const { objects, continuation } = readList(body.toString())
      return {
        objects: objects.map(({ key, bytes }) => ({ key: key.slice(prefix.length), bytes })),
        continuation,
      }
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      throw new BucketError(`${name}: its list of keys cannot be read: ${message}`, 'malformed', {
        cause: error,
      })
    }
  }
}

interface Call {
  readonly method: 'GET' | 'PUT' | 'DELETE'
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array
  /** Longest answer. */
  readonly bytesMax?: number
  readonly signal?: AbortSignal | undefined
}

const isSuccess = ({ status }: OutboundAnswer): boolean => status >= 200 && status < 300

const hash = (algorithm: string, body: Uint8Array | undefined) =>
  createHash(algorithm).update(body ?? new Uint8Array())
