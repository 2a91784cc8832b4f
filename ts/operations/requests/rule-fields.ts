/** The members of dynamic search rules in requests. */
import { filterMistake } from '../../engine/index.js'
import { ApiError, type ErrorCode } from '../../errors/index.js'
import {
  type Actions,
  areValuesTooLong,
  areWordsTooLong,
  type Conditions,
  compactActions,
  FILTER_CHARS_MAX,
  type InlineRule,
  isFilterTooLong,
  RESERVED_RULE_UID,
  TEXT_CHARS_MAX,
  VALUES_CHARS_MAX,
} from '../../tasks/index.js'
import {
  type At,
  anything,
  badValue,
  boolean,
  byKind,
  documentId,
  filter,
  indexUid,
  integer,
  isRfc3339,
  list,
  mapOf,
  number,
  oneOf,
  optional,
  refined,
  required,
  shape,
  string,
  type Type,
  u32,
} from './parse/index.js'

/** Codes of mistakes in a rule. */
export interface RuleCodes {
  readonly conditions: ErrorCode
  /** For conditions that contradict each other. */
  readonly contradiction: ErrorCode
  readonly actions: ErrorCode
}

const moment = refined(string, (text, at) => {
  if (!isRfc3339(text)) throw badValue(`\`${text}\` is not an RFC 3339 date-time`, at)
  return text
})
const words = refined(string, (text, at) => {
  if (areWordsTooLong(text))
    throw badValue(`the words have ${text.length} characters, the most are ${TEXT_CHARS_MAX}`, at)
  return text
})
const values = refined(mapOf(anything), (entries, at) => {
  if (areValuesTooLong(Object.fromEntries(entries)))
    throw badValue(`the values have more than ${VALUES_CHARS_MAX} characters as JSON`, at)
  return entries
})

/** `conditions` of a rule. */
export function ruleConditions({ conditions: code, contradiction }: RuleCodes): Type<Conditions> {
  const time = refined(shape({ start: optional(moment, code), end: optional(moment, code) }), (time, at) => {
    if (time.start !== null && time.end !== null && Date.parse(time.start) > Date.parse(time.end))
      throw new ApiError(
        contradiction,
        `the time at \`${at.path}\` ends (${time.end}) before it starts (${time.start})`,
      )
    return time
  })
  const query = refined(
    shape({ isEmpty: optional(boolean, code), words: optional(words, code) }),
    (query, at) => {
      if (query.isEmpty === true && query.words !== null)
        throw new ApiError(
          contradiction,
          `the empty query at \`${at.path}\` has no words, but \`${query.words}\` was given`,
        )
      return query
    },
  )
  const object = refined(
    shape({
      time: optional(time, code),
      query: optional(query, code),
      filter: optional(shape({ values: required(values, code) }), code),
    }),
    ({ time, query, filter }): Conditions => ({
      ...(time !== null && { time: withoutNulls(time) }),
      ...(query !== null && { query: withoutNulls(query) }),
      ...(filter !== null && { filter: { values: Object.fromEntries(filter.values) } }),
    }),
  )
  return {
    ...object,
    json(node, at) {
      if (node.kind === 'array')
        throw badValue(
          'conditions are an object such as `{"query": {"words": "film"}}`, not a list of scopes as before 1.50',
          at,
        )
      return object.json(node, at)
    },
  }
}

const weight = number((value) => value >= 0 && Number.isFinite(value), 'a finite number, zero or more', {
  minimum: 0,
})
const scaleFilter = refined(filter, (value, at) => {
  if (isFilterTooLong(value))
    throw badValue(`the filter has more than ${FILTER_CHARS_MAX} characters as JSON`, at)
  const mistake = filterMistake(value)
  if (mistake !== null) throw badValue(mistake, at)
  return value
})

/**
 * `actions` of a rule.
 * @param acceptsList true to accept the list of `{selector, action}` of versions before 1.54 too, which official
 * clients still send
 */
export function ruleActions({ actions: code }: RuleCodes, acceptsList: boolean): Type<Actions> {
  const pin = shape({
    id: required(documentId, code),
    position: required(u32, code),
    indexUid: optional(indexUid, code),
  })
  const scale = shape({
    weight: required(weight, code),
    ids: optional(list(documentId), code),
    filter: optional(scaleFilter, code),
    indexUid: optional(indexUid, code),
  })
  const object = refined(
    shape({ pin: optional(list(pin), code), scale: optional(list(scale), code) }),
    ({ pin, scale }): Actions =>
      compactActions({
        ...(pin !== null && { pin: pin.map(withoutNulls) as NonNullable<Actions['pin']> }),
        ...(scale !== null && { scale: scale.map(withoutNulls) as NonNullable<Actions['scale']> }),
      }),
  )
  if (!acceptsList) return object
  const selector = shape({ indexUid: optional(indexUid, code), id: required(documentId, code) })
  const action = shape({ type: required(oneOf(['pin']), code), position: required(u32, code) })
  const older = refined(
    list(shape({ selector: required(selector, code), action: required(action, code) })),
    (actions): Actions =>
      compactActions({
        pin: actions.map(({ selector: { id, indexUid }, action: { position } }) => ({
          id,
          position,
          ...(indexUid !== null && { indexUid }),
        })),
      }),
  )
  return byKind({ object, array: older })
}

/** Checks the uid of a rule that is about to be written or used. @throws ApiError with the code of `at` */
export function requireFreeRuleUid(uid: string, at: At): void {
  if (uid === RESERVED_RULE_UID) throw badValue(`\`${uid}\` is a reserved uid; choose another one`, at)
}

const INLINE = 'invalid_search_inline_rule'
const inlineCodes: RuleCodes = { conditions: INLINE, contradiction: INLINE, actions: INLINE }
const inlineUid = refined(indexUid, (uid, at) => {
  requireFreeRuleUid(uid, at)
  return uid
})

/** `inlineRule` of a search. */
export const inlineRule: Type<InlineRule> = refined(
  shape({
    uid: required(inlineUid, INLINE),
    active: optional(boolean, INLINE),
    precedence: optional(integer(), INLINE),
    conditions: optional(ruleConditions(inlineCodes), INLINE),
    actions: optional(ruleActions(inlineCodes, false), INLINE),
  }),
  ({ uid, active, precedence, conditions, actions }): InlineRule => ({
    uid,
    active: active ?? true,
    precedence,
    conditions: conditions ?? {},
    actions: actions ?? {},
  }),
)

/** Returns the object without its null members. */
function withoutNulls<T extends object>(value: T): { [K in keyof T]?: NonNullable<T[K]> } {
  const entries = Object.entries(value).filter(([, member]) => member !== null)
  return Object.fromEntries(entries) as { [K in keyof T]?: NonNullable<T[K]> }
}
