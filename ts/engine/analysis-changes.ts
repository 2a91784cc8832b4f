import type { IndexAnalysis } from './engine.js'

/**
 * Returns the components that cut the documents of an index in another version than they cut queries, as text for
 * humans; empty if there are none.
 */
export function analysisChanges({ index, engine }: IndexAnalysis): readonly string[] {
  const names = [...new Set([...Object.keys(index), ...Object.keys(engine)])].sort()
  return names
    .filter((name) => index[name] !== engine[name])
    .map((name) => `${name} was ${index[name] ?? 'none'} and is ${engine[name] ?? 'none'}`)
}
