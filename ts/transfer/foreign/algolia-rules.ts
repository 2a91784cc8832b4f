/** Rules of Algolia → dynamic search rules. */
import { documentId } from './documents.js'
import { type ForeignRule, momentOf, named, objectOf, objectsOf, ruleUid, textsOf } from './foreign.js'

type Json = Readonly<Record<string, unknown>>

export function rulesOf(
  uid: string,
  given: readonly Json[],
): { readonly rules: readonly ForeignRule[]; readonly leftOut: readonly string[] } {
  const rules: ForeignRule[] = []
  const leftOut: string[] = []
  for (const [at, rule] of given.entries()) {
    const id = String(rule.objectID)
    const consequence = objectOf(rule.consequence ?? {}, `the consequence of the rule \`${id}\``)
    const lost = Object.keys(consequence).filter((part) => part !== 'promote' && part !== 'hide')
    if (lost.length > 0)
      leftOut.push(`${named(lost)} of the rule \`${id}\`: rules here pin, scale and hide documents`)
    const actions = actionsOf(uid, consequence)
    if (Object.keys(actions).length === 0) continue
    // The conditions are alternatives. A rule without one always applies.
    const conditions = conditionsIn(rule)
    for (const [number, condition] of conditions.entries()) {
      const query = queryOf(condition)
      if (typeof query === 'string') {
        leftOut.push(`a condition of the rule \`${id}\`: ${query}`)
        continue
      }
      if (['is', 'startsWith', 'endsWith'].includes(String(condition.anchoring)) && 'words' in query)
        leftOut.push(
          `\`${String(condition.anchoring)}\` of the rule \`${id}\`: it holds for queries with these words`,
        )
      for (const [period, time] of periodsOf(rule).entries())
        rules.push({
          uid: ruleUid(uid, id, [...suffix(number, conditions), ...suffix(period, periodsOf(rule))]),
          body: {
            description: typeof rule.description === 'string' ? rule.description : `rule ${id} of Algolia`,
            precedence: at,
            active: rule.enabled !== false,
            conditions: { ...(Object.keys(query).length > 0 && { query }), ...(time !== null && { time }) },
            actions,
          },
        })
    }
  }
  return { rules, leftOut }
}

const suffix = (number: number, all: readonly unknown[]): readonly number[] =>
  all.length > 1 ? [number + 1] : []

function conditionsIn({ conditions, condition }: Json): readonly Json[] {
  const several = objectsOf(conditions)
  if (several.length > 0) return several
  return typeof condition === 'object' && condition !== null ? [condition as Json] : [{}]
}

/** Returns the condition on the query, or why there is none. */
function queryOf({ pattern, anchoring, context, filters }: Json): Json | string {
  if (typeof context === 'string' && context !== '') return 'searches here have no context'
  if (typeof filters === 'string' && filters !== '') return 'rules here do not read the text of a filter'
  if (typeof pattern !== 'string') return {}
  if (/\{facet:/.test(pattern)) return 'its pattern names a facet'
  // An empty pattern that must match exactly is the empty query; in another place it matches everything.
  if (pattern === '') return anchoring === 'is' ? { isEmpty: true } : {}
  return { words: pattern }
}

/** Returns the times of a rule; null: always. */
function periodsOf({ validity }: Json): readonly (Json | null)[] {
  const periods = objectsOf(validity).map(({ from, until }) => {
    const [start, end] = [from, until].map(momentOf)
    return { ...(start && { start }), ...(end && { end }) }
  })
  return periods.length > 0 ? periods : [null]
}

function actionsOf(indexUid: string, { promote, hide }: Json): Json {
  const pin = objectsOf(promote).flatMap(({ objectID, objectIDs, position }) => {
    const first = typeof position === 'number' ? position : 0
    const ids = typeof objectID === 'string' ? [objectID] : textsOf(objectIDs)
    return ids.map((id, at) => ({ id: documentId(id), position: first + at, indexUid }))
  })
  const hidden = objectsOf(hide).map(({ objectID }) => documentId(String(objectID)))
  return {
    ...(pin.length > 0 && { pin }),
    ...(hidden.length > 0 && { scale: [{ weight: 0, ids: hidden, indexUid }] }),
  }
}
