/** Synonyms and overrides of Typesense → synonyms and dynamic search rules. */
import { documentId } from './documents.js'
import {
  type ForeignRule,
  momentOf,
  named,
  objectOf,
  objectsOf,
  ruleUid,
  Synonyms,
  textsOf,
} from './foreign.js'

type Json = Readonly<Record<string, unknown>>

export function synonymsOf(items: readonly Json[]): {
  readonly synonyms: Readonly<Record<string, readonly string[]>>
  readonly leftOut: readonly string[]
} {
  const synonyms = new Synonyms()
  for (const { root, synonyms: given } of items) {
    const words = textsOf(given)
    if (typeof root === 'string' && root !== '') synonyms.add(root, words)
    else for (const word of words) synonyms.add(word, words)
  }
  const localized = items.filter(({ locale }) => typeof locale === 'string' && locale !== '')
  const leftOut =
    localized.length === 0
      ? []
      : [
          `the locale of the synonyms ${named(localized.map(({ id }) => String(id)))}: they hold in all languages`,
        ]
  return { synonyms: synonyms.setting, leftOut }
}

/** Parts of an override that change the query, which rules here do not. */
const changesQuery = ['filter_by', 'sort_by', 'replace_query', 'remove_matched_tokens'] as const

export function rulesOf(
  uid: string,
  overrides: readonly Json[],
): { readonly rules: readonly ForeignRule[]; readonly leftOut: readonly string[] } {
  const rules: ForeignRule[] = []
  const leftOut: string[] = []
  for (const [at, override] of overrides.entries()) {
    const id = String(override.id)
    const when = conditionsOf(override)
    if (typeof when === 'string') {
      leftOut.push(`override \`${id}\`: ${when}`)
      continue
    }
    const actions = actionsOf(uid, override)
    // Version 26 switches `remove_matched_tokens` on by default for overrides with a filter.
    const lost = changesQuery.filter((part) => part in override && override[part] !== false)
    if (lost.length > 0)
      leftOut.push(`${named(lost)} of the override \`${id}\`: rules here do not change the query`)
    if (Object.keys(actions).length === 0) continue
    if (objectOf(override.rule, `the rule of \`${id}\``).match === 'exact')
      leftOut.push(`the exact match of the override \`${id}\`: its rule holds for queries with these words`)
    rules.push({
      uid: ruleUid(uid, id),
      body: { precedence: at, conditions: when, actions, description: `override ${id} of Typesense` },
    })
  }
  return { rules, leftOut }
}

/** Returns the conditions, or why there are none. */
function conditionsOf(override: Json): Json | string {
  const rule = objectOf(override.rule ?? {}, `the rule of the override \`${String(override.id)}\``)
  if (typeof rule.filter_by === 'string') return 'rules here do not read the text of a filter'
  if (textsOf(rule.tags).length > 0) return 'searches here have no tags'
  const { query } = rule
  if (typeof query !== 'string' || query === '') return 'it has no query'
  if (/\{[^{}]*\}/.test(query)) return 'its query names a field, as in {brand}'
  const [start, end] = [override.effective_from_ts, override.effective_to_ts].map(momentOf)
  return {
    query: query === '*' ? { isEmpty: true } : { words: query },
    ...((start || end) && { time: { ...(start && { start }), ...(end && { end }) } }),
  }
}

function actionsOf(indexUid: string, { includes, excludes }: Json): Json {
  // Positions of Typesense begin at 1.
  const pin = objectsOf(includes).map(({ id, position }) => ({
    id: documentId(String(id)),
    position: Math.max(0, (typeof position === 'number' ? position : 1) - 1),
    indexUid,
  }))
  const hidden = objectsOf(excludes).map(({ id }) => documentId(String(id)))
  return {
    ...(pin.length > 0 && { pin }),
    ...(hidden.length > 0 && { scale: [{ weight: 0, ids: hidden, indexUid }] }),
  }
}
