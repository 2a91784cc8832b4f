import { ApiError, clientMessages } from '../errors/index.js'
import { isPattern, matches } from './patterns.js'

const algorithms = ['HS256', 'HS384', 'HS512']
const BASE64URL = /^[A-Za-z0-9_-]*$/
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** A token that has been decoded and not verified yet. */
export interface UnverifiedToken {
  readonly text: string
  readonly claims: Readonly<Record<string, unknown>>
}

/** The search rules of a verified token. */
export interface SearchRules {
  /** The rule of the most specific pattern that matches the index; null: the index must not be searched. */
  rule(indexUid: string): { readonly filter: unknown } | null
}

/** Decodes `text`; null if it does not have the form of a token, as API keys do not. */
export function readToken(text: string): UnverifiedToken | null {
  const parts = text.split('.')
  if (parts.length !== 3) return null
  const header = jsonObject(parts[0] ?? '')
  const claims = jsonObject(parts[1] ?? '')
  return header === null || claims === null ? null : { text, claims }
}

/** The uid of the key that signed the token, by its claim. @throws ApiError `invalid_api_key` */
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
  // Source: the reference expects no audience and refuses a token that names one.
  if (aud !== undefined) throw refused('the claim `aud` is not supported')
  if (exp !== undefined && exp !== null) {
    if (typeof exp !== 'number' || !Number.isInteger(exp)) throw refused('the claim `exp` is not an integer')
    if (nowSeconds > exp)
      throw new ApiError('invalid_api_key', clientMessages.tenantTokenExpired(exp, nowSeconds))
  }
  return readRules(searchRules)
}

function readRules(searchRules: unknown): SearchRules {
  const rules = new Map<string, unknown>()
  if (Array.isArray(searchRules)) {
    for (const pattern of searchRules) rules.set(readPattern(pattern), null)
  } else if (searchRules !== null && typeof searchRules === 'object') {
    for (const [pattern, rule] of Object.entries(searchRules)) rules.set(readPattern(pattern), readRule(rule))
  } else {
    throw refused('the claim `searchRules` is neither an array nor an object')
  }
  // The most specific pattern comes first: exact uids, then patterns by descending length.
  const patterns = [...rules.keys()].sort(
    (a, b) => Number(a.endsWith('*')) - Number(b.endsWith('*')) || b.length - a.length,
  )
  return {
    rule(indexUid) {
      const pattern = patterns.find((one) => matches(one, indexUid))
      return pattern === undefined ? null : { filter: rules.get(pattern) ?? null }
    },
  }
}

function readPattern(pattern: unknown): string {
  if (typeof pattern !== 'string' || !isPattern(pattern)) {
    throw refused(`\`searchRules\` names \`${String(pattern)}\`, which is no index uid pattern`)
  }
  return pattern
}

function readRule(rule: unknown): unknown {
  if (rule === null) return null
  if (typeof rule !== 'object' || Array.isArray(rule))
    throw refused('a search rule is neither null nor an object')
  const filter: unknown = Object.hasOwn(rule, 'filter') ? (rule as { filter: unknown }).filter : null
  if (filter === null || typeof filter === 'string' || Array.isArray(filter)) return filter
  const literal = JSON.stringify(filter)
  throw new ApiError(
    'invalid_search_filter',
    `the filter of the tenant token is neither a string nor an array: \`${literal}\``,
  )
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

function refused(reason: string): ApiError {
  return new ApiError('invalid_api_key', `the tenant token is not valid: ${reason}`)
}
