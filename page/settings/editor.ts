/** The state that all editors of settings use. */
import type { Json, Settings } from '../api/types.ts'

export interface Editor {
  /** The settings with the changes that are not saved yet. */
  readonly settings: Settings
  readonly set: (name: string, value: Json) => void
  /** Returns the cost of a changed setting in words; empty for an unchanged one. */
  readonly costOf: (name: string) => string
  readonly isChanged: (name: string) => boolean
  /** The fields of the documents. */
  readonly fields: readonly string[]
  /** Returns true if the index has documents, but none has this field. */
  readonly isUnknown: (name: string) => boolean
}
