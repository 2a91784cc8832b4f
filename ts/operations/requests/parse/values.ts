import type { FilterValue } from '../../../engine/index.js'
import {
  type At,
  badValue,
  FILTER_LEVELS_MAX,
  integer,
  isNestedBeyond,
  list,
  refined,
  shortInteger,
  string,
  type Type,
  toValue,
  U32_MAX,
  wrongType,
} from '../../../parse/index.js'

/** Bytes of an index uid. Source: the reference refuses 401, although its documentation says 512. */
const INDEX_UID_BYTES_MAX = 400
/** Bytes of a document id. Source: the API. */
const DOCUMENT_ID_BYTES_MAX = 511

/** Returns true if `text` is a valid index uid. */
export function isIndexUid(text: string): boolean {
  return text.length <= INDEX_UID_BYTES_MAX && /^[A-Za-z0-9_-]+$/.test(text)
}

export const indexUidRule =
  'an index uid is 1 to 400 characters long and made of a-z, A-Z, 0-9, hyphens and underscores'

export const indexUid: Type<string> = refined(
  string,
  (text, at) => {
    if (!isIndexUid(text)) throw badValue(`\`${text}\` is not a valid index uid; ${indexUidRule}`, at)
    return text
  },
  { pattern: '^[A-Za-z0-9_-]{1,400}$' },
)

/** An index uid, its beginning followed by `*`, or `*`. */
export const indexPattern: Type<string> = refined(string, (text, at) => {
  const start = text.endsWith('*') ? text.slice(0, -1) : text
  if (text !== '*' && !isIndexUid(start)) {
    throw badValue(
      `\`${text}\` is not a valid index uid pattern; ${indexUidRule}, optionally ending in *`,
      at,
    )
  }
  return text
})

/** The uid of a task or batch, or a number for paging them. */
export const u32: Type<number> = integer(U32_MAX)

const isDocumentId = (text: string): boolean =>
  text.length <= DOCUMENT_ID_BYTES_MAX && /^[A-Za-z0-9_-]+$/.test(text)

const [I64_MIN, U64_MAX] = [-(2n ** 63n), 2n ** 64n - 1n]

/** Returns true for a signed or unsigned integer of 64 bits. */
function isInteger64(text: string): boolean {
  const integer = shortInteger(text)
  return integer !== null && I64_MIN <= integer && integer <= U64_MAX
}

/** A document id, sent as a string or as an integer. The value is text. */
export const documentId: Type<string> = {
  expected: 'a string or an integer',
  schema: { type: ['string', 'integer'] },
  json(node, at) {
    if (node.kind === 'number' && isInteger64(node.text)) return node.text
    if (node.kind !== 'string') throw wrongType(this.expected, node, at)
    return this.text(node.value, at)
  },
  text(text, at) {
    if (!isDocumentId(text)) {
      const rule = 'ids are integers, or strings of 1 to 511 characters a-z, A-Z, 0-9, - and _'
      throw badValue(`\`${text}\` is not a valid document id; ${rule}`, at)
    }
    return text
  },
}

export const strings = list(string)

/** Limits the list `type` to `most` elements. */
export function atMost<T>(type: Type<readonly T[]>, most: number): Type<readonly T[]> {
  const check = (length: number, at: At): void => {
    if (length > most) throw badValue(`it has ${length} elements, the most are ${most}`, at)
  }
  return {
    expected: type.expected,
    schema: { ...type.schema, maxItems: most },
    json(node, at) {
      // Check the length before reading any element.
      if (node.kind === 'array') check(node.items.length, at)
      return type.json(node, at)
    },
    text(text, at) {
      const items = type.text(text, at)
      check(items.length, at)
      return items
    },
  }
}

/** Checks the depth of a filter. @throws ApiError if it is nested too deeply for the engines */
export function shallowFilter<T>(value: T, at: At): T {
  if (isNestedBeyond(value, FILTER_LEVELS_MAX))
    throw badValue(
      `expected a string or an array of strings and arrays of strings, found more than ${FILTER_LEVELS_MAX} levels`,
      at,
    )
  return value
}

/** A filter: a string or an array. The engine checks the elements of an array. */
export const filter: Type<FilterValue> = {
  expected: 'a string or an array',
  schema: { type: ['string', 'array'] },
  json(node, at) {
    if (node.kind !== 'string' && node.kind !== 'array') throw wrongType(this.expected, node, at)
    return shallowFilter(toValue(node), at) as FilterValue
  },
  text: (text) => text,
}

/**
 * Sort criteria in a query string, separated by commas. Commas inside parentheses, as in `_geoPoint(1,2):asc`, do not
 * separate. An empty string is a single empty criterion, which the engine refuses.
 */
export const sortList: Type<readonly string[]> = {
  expected: strings.expected,
  schema: strings.schema,
  json: (node, at) => strings.json(node, at),
  text: (text) => splitAtCommas(text).map((one) => one.trim()),
}

/** Splits `text` at its commas, except where the next parenthesis is a `)`. */
function splitAtCommas(text: string): string[] {
  const parts: string[] = []
  let end = text.length
  let isInside = false
  // Loop backwards, so that the next parenthesis after each comma is known.
  for (let at = text.length - 1; at >= 0; at--) {
    const character = text[at]
    if (character === ')') isInside = true
    else if (character === '(') isInside = false
    else if (character === ',' && !isInside) {
      parts.push(text.slice(at + 1, end))
      end = at
    }
  }
  parts.push(text.slice(0, end))
  return parts.reverse()
}

/** A UUID of any version. The value is lower-case text. */
export const uuid: Type<string> = refined(
  string,
  (text, at) => {
    if (!isUuid(text)) throw badValue(`\`${text}\` is not a valid UUID`, at)
    return text.toLowerCase()
  },
  { format: 'uuid' },
)

export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(text)
}

const DAY_MS = 86_400_000
const RFC_3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt ](?!24)(\d\d):(\d\d):(\d\d)(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/

/**
 * A bound of a date filter, as RFC 3339; null for `*`. A day without a time means its start for `before` and its end
 * for `after`, so that the range excludes the day.
 */
export function dateBound(kind: 'before' | 'after'): Type<string | null> {
  return {
    expected: 'a date',
    schema: { type: 'string' },
    json(node, at) {
      return this.text(string.json(node, at), at)
    },
    text(text, at) {
      if (text === '*') return null
      const day = /^\d{4}-\d\d-\d\d$/.test(text) ? dayStart(text) : null
      if (day !== null) return new Date(day + (kind === 'after' ? DAY_MS : 0)).toISOString()
      if (!isRfc3339(text)) {
        throw badValue(`\`${text}\` is neither a date such as 2026-01-31 nor an RFC 3339 date-time`, at)
      }
      return text
    },
  }
}

/** Returns the start of the day `YYYY-MM-DD` in UTC, as milliseconds since 1970; null if the day does not exist. */
export function dayStart(text: string): number | null {
  const time = Date.parse(`${text}T00:00:00Z`)
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text) ? time : null
}

export function isRfc3339(text: string): boolean {
  const parts = RFC_3339.exec(text)
  if (parts === null) return false
  return dayStart(text.slice(0, 10)) !== null && !Number.isNaN(Date.parse(text.replace(' ', 'T')))
}
