import { FilterError, parseFilter } from './fallback/filter/index.js'

/**
 * Checks a filter that may not follow foreign keys, without an index.
 * @returns the mistake; null if the filter parses
 */
export function filterMistake(filter: unknown): string | null {
  const features = { containsFilter: true, multimodal: true }
  const mistake = parseMistake(filter, { ...features, foreignKeys: false })
  const isForeign = mistake !== null && parseMistake(filter, { ...features, foreignKeys: true }) === null
  return isForeign ? 'the filter cannot contain `_foreign`' : mistake
}

function parseMistake(filter: unknown, features: Parameters<typeof parseFilter>[1]): string | null {
  try {
    parseFilter(filter, features)
    return null
  } catch (error) {
    if (error instanceof FilterError) return error.message
    throw error
  }
}
