/** Encodes the search rights in requests to other instances. */
import { ApiError } from '../errors/index.js'
import { isPattern, matchesAny } from './patterns.js'
import { readRules } from './search-rules.js'

/** The search rights of a request. */
export interface SearchRights {
  maySearch(indexUid: string): boolean
  /** The filter that is added to every search of the index; null: no filter. */
  forcedFilter(indexUid: string): unknown
}

/** The rights of a key or a tenant token. */
export interface PassedRights {
  /** Patterns of indexes. */
  readonly indexes: readonly string[]
  /** The claim of a tenant token; null: no token. */
  readonly searchRules: unknown
}

/** Encodes rights for a header. If the text exceeds `bytesMax`, encodes the right to no index. */
export function writeRights(rights: PassedRights, bytesMax: number): string {
  const text = encoded(rights)
  return text.length <= bytesMax ? text : encoded({ indexes: [], searchRules: null })
}

/** Decodes rights. @throws ApiError `bad_request` for anything that `writeRights` did not write */
export function readRights(text: string): SearchRights {
  const { indexes, searchRules } = decoded(text)
  const rules = searchRules === null ? null : rulesOf(searchRules)
  return {
    maySearch: (uid) => matchesAny(indexes, uid) && (rules === null || rules.rule(uid) !== null),
    forcedFilter: (uid) => rules?.rule(uid)?.filter ?? null,
  }
}

const encoded = (rights: PassedRights): string => Buffer.from(JSON.stringify(rights)).toString('base64url')

function decoded(text: string): PassedRights {
  try {
    const { indexes, searchRules } = JSON.parse(Buffer.from(text, 'base64url').toString())
    if (Array.isArray(indexes) && indexes.every((one) => typeof one === 'string' && isPattern(one)))
      return { indexes, searchRules: searchRules ?? null }
  } catch {}
  throw unreadable()
}

function rulesOf(searchRules: unknown): ReturnType<typeof readRules> {
  try {
    return readRules(searchRules)
  } catch {
    throw unreadable()
  }
}

const unreadable = (): ApiError =>
  new ApiError('bad_request', 'the header with search rights from another instance cannot be read')
