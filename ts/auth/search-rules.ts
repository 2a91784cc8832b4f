import { ApiError } from '../errors/index.js'
import { FILTER_LEVELS_MAX, isNestedBeyond } from '../parse/index.js'
import { isPattern, matches } from './patterns.js'

/** The search rules of a verified token. */
export interface SearchRules {
  /** Returns the rule of the most specific pattern that matches the index; null: searching the index is forbidden. */
  rule(indexUid: string): { readonly filter: unknown } | null
}

/** Reads the claim `searchRules`. @throws ApiError `invalid_api_key`; `invalid_search_filter` if a filter has a wrong type */
export function readRules(searchRules: unknown): SearchRules {
  const rules = new Map<string, unknown>()
  if (Array.isArray(searchRules)) {
    for (const pattern of searchRules) rules.set(readPattern(pattern), null)
  } else if (searchRules !== null && typeof searchRules === 'object') {
    for (const [pattern, rule] of Object.entries(searchRules)) rules.set(readPattern(pattern), readRule(rule))
  } else {
    throw tokenRefused('the claim `searchRules` is neither an array nor an object')
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
    throw tokenRefused(`\`searchRules\` names \`${String(pattern)}\`, which is not an index uid pattern`)
  }
  return pattern
}

function readRule(rule: unknown): unknown {
  if (rule === null) return null
  if (typeof rule !== 'object' || Array.isArray(rule))
    throw tokenRefused('a search rule is neither null nor an object')
  const filter: unknown = Object.hasOwn(rule, 'filter') ? (rule as { filter: unknown }).filter : null
  if (isNestedBeyond(filter, FILTER_LEVELS_MAX))
    throw new ApiError(
      'invalid_search_filter',
      `the filter of the tenant token has more than ${FILTER_LEVELS_MAX} levels of arrays or objects`,
    )
  if (filter === null || typeof filter === 'string' || Array.isArray(filter)) return filter
  const literal = JSON.stringify(filter)
  throw new ApiError(
    'invalid_search_filter',
    `the filter of the tenant token is neither a string nor an array: \`${literal}\``,
  )
}

export function tokenRefused(reason: string): ApiError {
  return new ApiError('invalid_api_key', `the tenant token is not valid: ${reason}`)
}
