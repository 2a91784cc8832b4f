import { flagsOf, variableOf } from './names.js'
import type { Given } from './read.js'
import { rowOf } from './table.js'

/** Returns a sentence for each given option without effect, or without its full effect, on this engine. */
export function withoutEffect(given: Given, engine: 'native' | 'fallback'): readonly string[] {
  return [...given].flatMap(([name, { value }]) => {
    const row = rowOf(name)
    const { noEffect } = row
    if (noEffect === undefined || value === false || (noEffect.on ?? engine) !== engine) return []
    const [flag] = flagsOf(name, row)
    return [`${flag === undefined ? variableOf(name, row) : `--${flag}`} has no effect: ${noEffect.why}`]
  })
}
