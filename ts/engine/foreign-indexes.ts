import type { IndexId } from './engine.js'
import type { ForeignKey } from './requests.js'

const NONE: readonly IndexId[] = []

/** Indexes that a request may read beside its own, each once. */
export function foreignIndexes({
  foreignKeys,
}: {
  readonly foreignKeys?: readonly ForeignKey[]
}): readonly IndexId[] {
  // Nearly all searches follow no foreign keys.
  if (foreignKeys === undefined) return NONE
  return [...new Set(foreignKeys.flatMap(({ access }) => (access.kind === 'granted' ? [access.index] : [])))]
}
