/**
 * Signs requests to Google Cloud Storage with its variant of signature version 4, whose headers begin with `x-goog-`.
 * The AWS signature cannot be used: atomic creates need an `x-goog-` header, and the store refuses requests that have
 * both `x-amz-` and `x-goog-` headers. https://cloud.google.com/storage/docs/authentication/signatures
 */
import { createHash, createHmac } from 'node:crypto'
import type { Credentials } from './credentials.js'

const ALGORITHM = 'GOOG4-HMAC-SHA256'

interface GoogleRequest {
  readonly method: string
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  /** SHA-256 of the body, in hexadecimal. */
  readonly bodyHash: string
}

/** Returns the headers plus those of the signature. @param at milliseconds since 1970 */
export function googleSigned(
  { method, url, headers, bodyHash }: GoogleRequest,
  { accessKeyId, secretAccessKey }: Pick<Credentials, 'accessKeyId' | 'secretAccessKey'>,
  at: number,
): Record<string, string> {
  const date = new Date(at).toISOString().replace(/[:-]|\.\d{3}/g, '')
  // The store accepts `auto` for any region.
  const scope = [date.slice(0, 8), 'auto', 'storage', 'goog4_request']
  const sent = { ...headers, 'x-goog-content-sha256': bodyHash, 'x-goog-date': date }
  const signed = Object.entries({ ...sent, host: url.host }).sort(([one], [other]) => (one < other ? -1 : 1))
  const names = signed.map(([name]) => name).join(';')
  const canonical = [
    method,
    url.pathname
      .split('/')
      .map((name) => encoded(decodeURIComponent(name)))
      .join('/'),
    canonicalQuery(url.searchParams),
    ...signed.map(([name, value]) => `${name}:${value.trim().replace(/\s+/g, ' ')}`),
    '',
    names,
    bodyHash,
  ].join('\n')
  const text = [ALGORITHM, date, scope.join('/'), createHash('sha256').update(canonical).digest('hex')].join(
    '\n',
  )
  let key: string | Buffer = `GOOG4${secretAccessKey}`
  for (const part of scope) key = hmac(key, part)
  const signature = hmac(key, text).toString('hex')
  const authorization = `${ALGORITHM} Credential=${accessKeyId}/${scope.join('/')}, SignedHeaders=${names}, Signature=${signature}`
  return { ...sent, authorization }
}

const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()

const canonicalQuery = (query: URLSearchParams): string =>
  [...query]
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .sort()
    .join('&')

/** Percent-encodes all but unreserved characters. */
export const encoded = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)
