import type { IndexId } from './engine.js'
import type { ForeignKey } from './requests.js'

/** Indexes that a request may read beside its own, each once. */
export const foreignIndexes = ({
  foreignKeys = [],
}: {
  readonly foreignKeys?: readonly ForeignKey[]
}): readonly IndexId[] => [
  ...new Set(foreignKeys.flatMap(({ access }) => (access.kind === 'granted' ? [access.index] : []))),
]
