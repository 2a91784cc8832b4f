import type { Engine, Pin } from '../../engine/index.js'
import type { CatalogueRow } from '../store/records.js'
import type { TaskContent } from '../task.js'

/** An index to be copied to another instance. */
export interface IndexExport {
  readonly index: CatalogueRow
  /** As in a request for documents; null: all of them. */
  readonly filter: unknown
  /** Push settings even if the other instance has the index already. */
  readonly overrideSettings: boolean
}

/** A commit of an index that is held, listing the documents that the export names. */
export interface PinnedCommit {
  readonly engine: Pick<Engine, 'pinnedSettings' | 'pinnedDocuments'>
  readonly pin: Pin
}

/** The instance that an index is copied to, and how. */
export interface ExportTarget {
  /** Base URL of the other instance. */
  readonly url: string
  readonly apiKey: string | null
  /** Bytes of documents in one request; null: a default. */
  readonly payloadBytesMax: number | null
  /** Whether API keys and secret headers of embedders are sent. */
  readonly withSecrets: boolean
  /** Aborted when the task was canceled. */
  readonly signal: AbortSignal
}

/**
 * Copies an index to another instance; resolves to the documents that matched once all were accepted.
 * @throws ApiError if the other instance cannot be reached or refuses
 */
export type ExportIndex = (commit: PinnedCommit, work: IndexExport, target: ExportTarget) => Promise<number>

type Export = Extract<TaskContent, { readonly kind: 'export' }>

/** The indexes that a task exports. The first pattern that matches an index, in ascending order, decides how. */
export function exportedIndexes({ indexes }: Export, rows: readonly CatalogueRow[]): readonly IndexExport[] {
  const patterns = indexes.toSorted((a, b) => (a.pattern < b.pattern ? -1 : 1))
  return rows
    .toSorted((a, b) => (a.uid < b.uid ? -1 : 1))
    .flatMap((index) => {
      const found = patterns.find(({ pattern }) => isNamed(index.uid, pattern))
      if (found === undefined) return []
      return [{ index, filter: found.filter, overrideSettings: found.overrideSettings }]
    })
}

const isNamed = (uid: string, pattern: string): boolean =>
  pattern.endsWith('*') ? uid.startsWith(pattern.slice(0, -1)) : uid === pattern
