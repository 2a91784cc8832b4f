/** Here is a document of the index of dynamic search rules: which rule is it? */
import type { Action, Conditions, Rule, RulePatch } from '../rules/index.js'
import {
  booleanOf,
  dateOf,
  type Fields,
  fieldsOf,
  listOf,
  oneOf,
  orNull,
  textOf,
  uidOf,
  unexpected,
} from './fields.js'

/** Under this name dynamic search rules travel as an index. Source: the API. */
export const RULES_INDEX = '.meili_dsr'

/** @throws DumpError */
export function ruleOf(value: unknown, at: string): Rule {
  const { uid, description, lastUpdatedAt, precedence, active, conditions, actions } = fieldsOf(value, at)
  return {
    uid: textOf(uid, `${at}: uid`),
    description: orNull(description, `${at}: description`, textOf),
    lastUpdatedAt: dateOf(lastUpdatedAt, `${at}: lastUpdatedAt`),
    precedence: orNull(precedence, `${at}: precedence`, numberOf),
    active: booleanOf(active, `${at}: active`),
    conditions: conditionsOf(fieldsOf(conditions ?? {}, `${at}: conditions`), `${at}: conditions`),
    actions: listOf(actions ?? [], `${at}: actions`, actionOf),
  }
}

/** A change of a rule: what is absent stays so. @throws DumpError */
export function rulePatchOf(value: unknown, at: string): RulePatch {
  const patch = fieldsOf(value, at)
  const read = <T>(name: keyof RulePatch, reader: (value: unknown, at: string) => T) =>
    name in patch && { [name]: orNull(patch[name], `${at}.${name}`, reader) }
  return {
    ...read('description', textOf),
    ...read('precedence', numberOf),
    ...read('active', booleanOf),
    ...read('conditions', (one, place) => conditionsOf(fieldsOf(one, place), place)),
    ...read('actions', (one, place) => listOf(one, place, actionOf)),
  }
}

function conditionsOf({ time, query, filter }: Fields, at: string): Conditions {
  return {
    ...(isGiven(time) && {
      time: given(fieldsOf(time, `${at}.time`), { start: dateOf, end: dateOf }, `${at}.time`),
    }),
    ...(isGiven(query) && {
      query: given(fieldsOf(query, `${at}.query`), { isEmpty: booleanOf, words: textOf }, `${at}.query`),
    }),
    ...(isGiven(filter) && {
      filter: { values: fieldsOf(fieldsOf(filter, `${at}.filter`).values, `${at}.filter.values`) },
    }),
  }
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null

/** Those of the fields that are there, read. */
function given<T>(
  fields: Fields,
  readers: { readonly [K in keyof T]: (value: unknown, at: string) => T[K] },
  at: string,
): Partial<T> {
  const entries = Object.entries(readers) as [string, (value: unknown, at: string) => unknown][]
  const present = entries.filter(([name]) => isGiven(fields[name]))
  return Object.fromEntries(
    present.map(([name, read]) => [name, read(fields[name], `${at}.${name}`)]),
  ) as Partial<T>
}

function actionOf(value: unknown, at: string): Action {
  const { selector, action } = fieldsOf(value, at)
  const { indexUid, id } = fieldsOf(selector, `${at}.selector`)
  const { type, position } = fieldsOf(action, `${at}.action`)
  return {
    selector: {
      ...(isGiven(indexUid) && { indexUid: textOf(indexUid, `${at}.selector.indexUid`) }),
      id: textOf(id, `${at}.selector.id`),
    },
    action: {
      type: oneOf(type, `${at}.action.type`, ['pin']),
      position: uidOf(position, `${at}.action.position`),
    },
  }
}

function numberOf(value: unknown, at: string): number {
  if (typeof value === 'number') return value
  throw unexpected(value, at, 'a number')
}
