/** Weights of attributes for the ranking rule `relevance`. */
import { covers } from '../../fields/patterns.js'
import type { IndexData } from '../../index-data/index-data.js'

/**
 * Weight of each field: of the longest name in `attributeWeights` that covers it, otherwise 1.
 */
export function attributeWeights({ settings, fieldPaths }: IndexData): number[] {
  const named = Object.entries(settings.attributeWeights ?? {})
  return fieldPaths.map((path) => {
    const covering = named.filter(([name]) => covers(name, path))
    covering.sort(([a], [b]) => b.length - a.length)
    const [longest] = covering
    return longest === undefined ? 1 : longest[1]
  })
}
