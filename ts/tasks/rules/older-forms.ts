/**
 * Converts rules of older versions of the API to the present form.
 *
 * Source: the API's page on dynamic search rules of version 1.57.
 * 1. Until 1.53 `actions` was a list of `{selector, action}`.
 * 2. Until 1.49 `conditions` was a list of scopes, and `precedence` was named `priority`.
 */
import type { Actions, Conditions, PinAction, Rule, RulePatch, ScaleAction } from './rule.js'

/** A rule or a change of one, in any form. */
type Given = Readonly<Record<string, unknown>>

/** Returns a stored rule in the present form. A rule that is already in it is returned unchanged. */
export const presentRule = (rule: Rule): Rule => presentMembers(rule)

/** Returns a stored change in the present form. */
export const presentPatch = (patch: RulePatch): RulePatch => presentMembers(patch)

/** Converts the members of a rule or of a change; absent members stay absent. */
export function presentMembers<T extends object>(given: T): T {
  const { actions, conditions, priority } = given as Given
  const isOld = Array.isArray(actions) || Array.isArray(conditions) || priority !== undefined
  if (!isOld) return given
  const { priority: _renamed, ...others } = given as Given
  return {
    ...others,
    ...(priority !== undefined && { precedence: others.precedence ?? priority }),
    ...(Array.isArray(conditions) && { conditions: presentConditions(conditions) }),
    ...(Array.isArray(actions) && { actions: presentActions(actions) }),
  } as T
}

/** Converts a list of `{selector, action}`. Actions without an id never did anything and are dropped. */
function presentActions(list: readonly unknown[]): Actions {
  const pin = list.flatMap((one): PinAction[] => {
    const { selector, action } = membersOf(one)
    const { id, indexUid } = membersOf(selector)
    const { type, position } = membersOf(action)
    if (typeof id !== 'string' && typeof id !== 'number') return []
    if (type !== 'pin' || typeof position !== 'number') return []
    return [{ id: String(id), position, ...(typeof indexUid === 'string' && { indexUid }) }]
  })
  return compactActions({ pin })
}

/** Converts a list of scopes. Several texts become one, and several times their intersection. */
function presentConditions(list: readonly unknown[]): Conditions {
  const scopes = list.map(membersOf)
  const queries = scopes.filter(({ scope }) => scope === 'query')
  const times = scopes.filter(({ scope }) => scope === 'time')
  const words = queries.flatMap(({ contains }) => (typeof contains === 'string' ? [contains] : [])).join(' ')
  const isEmpty = queries.map((query) => query.isEmpty).find((value) => typeof value === 'boolean')
  const start = bound(times, 'start', (time, other) => time > other)
  const end = bound(times, 'end', (time, other) => time < other)
  const query = { ...(isEmpty !== undefined && { isEmpty }), ...(words !== '' && { words }) }
  const time = { ...(start !== null && { start }), ...(end !== null && { end }) }
  return {
    ...(Object.keys(query).length > 0 && { query }),
    ...(Object.keys(time).length > 0 && { time }),
  } as Conditions
}

/** Returns the narrowest bound of several times; null without one. */
function bound(
  times: readonly Given[],
  name: 'start' | 'end',
  isNarrower: (time: number, other: number) => boolean,
): string | null {
  let best: string | null = null
  for (const { [name]: date } of times) {
    if (typeof date !== 'string' || Number.isNaN(Date.parse(date))) continue
    if (best === null || isNarrower(Date.parse(date), Date.parse(best))) best = date
  }
  return best
}

/** Returns actions without empty lists. */
export function compactActions({ pin = [], scale = [] }: Actions): Actions {
  return {
    ...(pin.length > 0 && { pin }),
    ...(scale.length > 0 && { scale: scale.map(compactScale) }),
  }
}

function compactScale({ weight, ids = [], filter, indexUid }: ScaleAction): ScaleAction {
  return {
    weight,
    ...(ids.length > 0 && { ids }),
    ...(filter !== undefined && filter !== null && { filter }),
    ...(indexUid !== undefined && { indexUid }),
  }
}

const membersOf = (value: unknown): Given =>
  typeof value === 'object' && value !== null ? (value as Given) : {}
