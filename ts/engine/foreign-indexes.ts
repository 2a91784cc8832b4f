import type { IndexId } from './index-id.js'
import type { ForeignKey } from './requests.js'

const NONE: readonly IndexId[] = []

/** The other indexes that a request may read, without duplicates. */
export function foreignIndexes({
  foreignKeys,
}: {
  readonly foreignKeys?: readonly ForeignKey[]
}): readonly IndexId[] {
  // Fast path: almost all searches follow no foreign keys.
  if (foreignKeys === undefined) return NONE
  return [...new Set(foreignKeys.flatMap(({ access }) => (access.kind === 'granted' ? [access.index] : [])))]
}
