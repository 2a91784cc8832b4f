import { createHash, timingSafeEqual } from 'node:crypto'
import { ApiError, clientMessages } from '../errors/index.js'
import { type Action, grants, isGlobal } from './actions.js'
import { KeyBook, type KeyRecord, type KeyStore } from './key-book.js'
import type { PassedRights } from './passed-rights.js'
import { matchesAny } from './patterns.js'
import type { SearchRules } from './search-rules.js'
import { readToken, signingKeyUid, verifyToken } from './tenant-token.js'

/** The rights of an authorized request. */
export interface Access {
  /** Identifies the key, so that the search queue can serve keys in turns. */
  readonly holder: string
  /** True if the request has the master key. */
  readonly isMaster: boolean
  /** Patterns of the indexes that the request may see; null: all. */
  readonly visibleIndexes: readonly string[] | null
  /** Returns true if the required actions are allowed on this index. */
  allows(indexUid: string): boolean
  /** Returns the error for an index that is not allowed. */
  refusal(indexUid: string): ApiError
  /** Returns true if a task of this request may create the index. */
  mayCreate(indexUid: string): boolean
  /** Returns true if the key or token may search the index, independent of the required actions. */
  maySearch(indexUid: string): boolean
  /** Returns true if the key may read the documents of the index with all their fields. */
  mayRead(indexUid: string): boolean
  /** The filter that the tenant token adds to every search of this index; null: no filter. */
  forcedFilter(indexUid: string): unknown
  /**
   * `maySearch` and `forcedFilter` for another instance that searches for this request; null: all indexes, no filter.
   */
  readonly passedRights: PassedRights | null
}

/** The keys of the instance, and authorization of requests. */
export interface Auth {
  readonly keys: KeyBook
  /**
   * Checks that a request may do all `actions`, on `indexUid` if its route has an index.
   * @param authorization the header as sent
   * @param actions empty: allows every request without reading the header
   * @throws ApiError `missing_authorization_header`, `missing_master_key`, `invalid_api_key`
   */
  require(authorization: string | undefined, actions: readonly Action[], indexUid?: string): Promise<Access>
  /**
   * Checks that the key or token is valid, whatever actions it has. An instance without master key accepts everyone.
   * @throws ApiError `missing_authorization_header`, `invalid_api_key`
   */
  requireValid(authorization: string | undefined): Promise<void>
}

interface AuthOptions {
  /** null: the instance is open, and `/keys` is closed. */
  readonly masterKey: string | null
  readonly store: KeyStore
  /** Milliseconds since 1970. */
  readonly now?: () => number
}

const everything: Omit<Access, 'holder' | 'isMaster'> = {
  visibleIndexes: null,
  allows: () => true,
  refusal: (indexUid) => new ApiError('invalid_api_key', `the index \`${indexUid}\` is not allowed`),
  mayCreate: () => true,
  maySearch: () => true,
  mayRead: () => true,
  forcedFilter: () => null,
  passedRights: null,
}
const openAccess: Access = { ...everything, holder: 'anyone', isMaster: false }
const masterAccess: Access = { ...everything, holder: 'master', isMaster: true }

/** The actions that a tenant token can grant. */
const tokenActions: ReadonlySet<Action> = new Set(['search', 'chatCompletions'])

/** Reads the keys of the instance. An instance without keys gets the default keys. */
export async function openAuth({ masterKey, store, now = Date.now }: AuthOptions): Promise<Auth> {
  const keys = await KeyBook.open(store, masterKey)
  const masterDigest = masterKey === null ? null : digest(masterKey)

  const accessOf: Auth['require'] = async (authorization, actions, indexUid) => {
    const token = readHeader(authorization)
    if (masterDigest === null) {
      if (actions.some((action) => action.startsWith('keys.'))) {
        throw new ApiError('missing_master_key', 'keys can only be managed once a master key is set')
      }
      return openAccess
    }
    if (token === null) {
      throw new ApiError(
        'missing_authorization_header',
        'the authorization header is missing; it must read `Bearer` followed by a key',
      )
    }
    if (timingSafeEqual(digest(token), masterDigest)) return masterAccess

    const tenant = actions.every((action) => tokenActions.has(action)) ? readToken(token) : null
    if (tenant === null) return keyAccess(usable(keys.byValue(token), actions, now()), indexUid)
    const parent = usable(keys.byUid(signingKeyUid(tenant)), actions, now())
    const rules = await verifyToken(tenant, keys.value(parent.uid), Math.floor(now() / 1000))
    return tokenAccess(parent, { rules, searchRules: tenant.claims.searchRules }, indexUid)
  }
  return {
    keys,
    async require(authorization, actions, indexUid) {
      return actions.length === 0 ? openAccess : accessOf(authorization, actions, indexUid)
    },
    async requireValid(authorization) {
      await accessOf(authorization, [])
    },
  }
}

/** Returns the key or token in the header; null without a header. @throws ApiError */
function readHeader(authorization: string | undefined): string | null {
  if (authorization === undefined) return null
  const space = authorization.indexOf(' ')
  const scheme = space === -1 ? authorization : authorization.slice(0, space)
  if (scheme !== 'Bearer') {
    throw new ApiError(
      'missing_authorization_header',
      'the authorization header does not use the scheme `Bearer`',
    )
  }
  const token = space === -1 ? '' : authorization.slice(space + 1)
  if (token === '') throw invalidKey()
  return token
}

/** Checks that the key is known, not expired and holds all `actions`. The error hides the reason. */
function usable(key: KeyRecord | null, actions: readonly Action[], now: number): KeyRecord {
  if (key === null || !actions.every((action) => grants(key.actions, action))) throw invalidKey()
  if (key.expiresAt !== null && now >= Date.parse(key.expiresAt)) throw invalidKey()
  const seesAll = key.indexes.includes('*')
  if (key.indexes.length === 0 || (!seesAll && actions.some(isGlobal))) throw invalidKey()
  return key
}

function keyAccess(key: KeyRecord, indexUid: string | undefined): Access {
  const allows = (uid: string): boolean => matchesAny(key.indexes, uid)
  const refusal = (uid: string): ApiError => notAllowed(uid, key.indexes)
  if (indexUid !== undefined && !allows(indexUid)) throw refusal(indexUid)
  const seesAll = key.indexes.includes('*')
  return {
    holder: key.uid,
    isMaster: false,
    visibleIndexes: seesAll ? null : key.indexes,
    allows,
    refusal,
    mayCreate: (uid) => allows(uid) && grants(key.actions, 'indexes.create'),
    maySearch: (uid) => allows(uid) && grants(key.actions, 'search'),
    mayRead: (uid) => allows(uid) && grants(key.actions, 'documents.get'),
    forcedFilter: () => null,
    passedRights: seesAll ? null : { indexes: key.indexes, searchRules: null },
  }
}

function tokenAccess(
  parent: KeyRecord,
  { rules, searchRules }: { readonly rules: SearchRules; readonly searchRules: unknown },
  indexUid: string | undefined,
): Access {
  const allows = (uid: string): boolean => rules.rule(uid) !== null && matchesAny(parent.indexes, uid)
  // Do not list the indexes of the signing key: the bearer of a token must not learn them.
  const refusal = (uid: string): ApiError =>
    new ApiError('invalid_api_key', `the tenant token does not allow the index \`${uid}\``)
  if (indexUid !== undefined && !allows(indexUid)) throw refusal(indexUid)
  return {
    holder: parent.uid,
    isMaster: false,
    visibleIndexes: parent.indexes.includes('*') ? null : parent.indexes,
    allows,
    refusal,
    mayCreate: () => false,
    maySearch: (uid) => allows(uid) && grants(parent.actions, 'search'),
    mayRead: () => false,
    forcedFilter: (uid) => rules.rule(uid)?.filter ?? null,
    passedRights: { indexes: parent.indexes, searchRules },
  }
}

function notAllowed(indexUid: string, patterns: readonly string[]): ApiError {
  const list = [...patterns].sort().map((pattern) => `\`${pattern}\``)
  return new ApiError(
    'invalid_api_key',
    `the API key cannot access the index \`${indexUid}\`, only ${list.join(', ')}`,
  )
}

function invalidKey(): ApiError {
  return new ApiError('invalid_api_key', clientMessages.invalidKey)
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
