import { ApiError, clientMessages } from '../errors/index.js'
import { readRules, tokenRefused as refused, type SearchRules } from './search-rules.js'

const algorithms = ['HS256', 'HS384', 'HS512']
const BASE64URL = /^[A-Za-z0-9_-]*$/
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** A token that was decoded but not verified. */
interface UnverifiedToken {
  readonly text: string
  readonly claims: Readonly<Record<string, unknown>>
}

/** Decodes `text`; null if it does not have the form of a token. API keys never have it. */
export function readToken(text: string): UnverifiedToken | null {
  const parts = text.split('.')
  if (parts.length !== 3) return null
  const header = jsonObject(parts[0] ?? '')
  const claims = jsonObject(parts[1] ?? '')
  return header === null || claims === null ? null : { text, claims }
}

/** Returns the uid of the key that signed the token, from its claim. @throws ApiError `invalid_api_key` */
export function signingKeyUid(token: UnverifiedToken): string {
  const uid = token.claims.apiKeyUid
  if (typeof uid !== 'string' || !UUID.test(uid)) throw refused('the claim `apiKeyUid` is not a UUID')
  return uid.toLowerCase()
}

/**
 * Checks signature, expiry and claims.
 * @param secret the value of the signing key, as text
 * @param nowSeconds Unix time
 * @throws ApiError `invalid_api_key`; `invalid_search_filter` if the filter of a rule has a wrong type
 */
export async function verifyToken(
  token: UnverifiedToken,
  secret: string,
  nowSeconds: number,
): Promise<SearchRules> {
  const { compactVerify } = await import('jose')
  try {
    await compactVerify(token.text, new TextEncoder().encode(secret), { algorithms })
  } catch (error) {
    throw refused(error instanceof Error ? error.message : String(error))
  }
  const { exp, aud, searchRules } = token.claims
  // Source: the reference expects no audience and refuses a token with one.
  if (aud !== undefined) throw refused('the claim `aud` is not supported')
  if (exp !== undefined && exp !== null) {
    if (typeof exp !== 'number' || !Number.isInteger(exp)) throw refused('the claim `exp` is not an integer')
    if (nowSeconds > exp)
      throw new ApiError('invalid_api_key', clientMessages.tenantTokenExpired(exp, nowSeconds))
  }
  return readRules(searchRules)
}

function jsonObject(part: string): Readonly<Record<string, unknown>> | null {
  // Node.js would skip other characters.
  if (!BASE64URL.test(part)) return null
  try {
    const value: unknown = JSON.parse(
      new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(part, 'base64url')),
    )
    return value !== null && typeof value === 'object' && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null
  } catch {
    return null
  }
}
