/** Resolves `attributesToSearchOn`. Source: search §18. */
import type { IndexSettings } from '../../../settings/index.js'
import { EngineError } from '../../engine-error.js'
import { covers, matchesPattern } from '../fields/patterns.js'
import { searchesEverything, searchWeight, shownNames } from '../fields/rules.js'
import type { IndexData } from '../index-data/index-data.js'

/**
 * Returns an array with 1 for each searched field; null without a restriction.
 * @param list attributes or patterns of the request
 * @throws EngineError `invalid_search_attributes_to_search_on` for an entry that matches no searchable attribute, if
 * the settings list them
 */
export function searchedFields(
  data: IndexData,
  list: readonly string[] | null,
  indexUid: string,
): Uint8Array | null {
  if (list === null) return null
  const { settings, fieldPaths } = data
  const searchable = fieldPaths.map((path) => searchWeight(settings, path) !== null)
  const searched = new Uint8Array(fieldPaths.length)
  for (const entry of list) {
    let known = entry === '*'
    for (const [field, path] of fieldPaths.entries()) {
      if (!searchable[field] || !matchesPattern(entry, path)) continue
      searched[field] = 1
      known = true
    }
    known ||= !entry.includes('*') && settings.searchableAttributes.some((name) => covers(name, entry))
    if (!known && !searchesEverything(settings)) throw notSearchable(settings, entry, indexUid)
  }
  // `*` lifts the restriction, but the other entries must still exist.
  return list.includes('*') ? null : searched
}

function notSearchable(settings: IndexSettings, entry: string, indexUid: string): EngineError {
  const names = shownNames(settings, settings.searchableAttributes)
  return new EngineError(
    'invalid_search_attributes_to_search_on',
    `Index \`${indexUid}\`: Attribute \`${entry}\` is not searchable. Available searchable attributes are: ` +
      `\`${names.join('`, `')}\`.`,
  )
}
