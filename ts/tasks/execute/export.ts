import type { Engine, Pin } from '../../engine/index.js'
import type { CatalogueRow } from '../store/records.js'
import type { ExportedFeatures, TaskContent } from '../task.js'

/** An index to copy to another instance. */
export interface IndexExport {
  readonly index: CatalogueRow
  /** As in a request for documents; null: all documents. */
  readonly filter: unknown
  /** True to send the settings even if the other instance already has the index. */
  readonly overrideSettings: boolean
}

/** A pinned commit of an index that lists the documents of an export. */
interface PinnedCommit {
  readonly engine: Pick<Engine, 'pinnedSettings' | 'pinnedDocuments'>
  readonly pin: Pin
}

/** The target instance of an export, and transfer options. */
export interface ExportTarget {
  /** Base URL of the other instance. */
  readonly url: string
  readonly apiKey: string | null
  /** Bytes of documents per request; null: a default. */
  readonly payloadBytesMax: number | null
  /** True if API keys and secret headers of embedders are sent. */
  readonly withSecrets: boolean
  readonly features: ExportedFeatures
  /** Aborted when the task is canceled. */
  readonly signal: AbortSignal
}

/**
 * Copies an index to another instance. Resolves to the number of matched documents once all are accepted.
 * @throws ApiError if the other instance is unreachable or refuses
 */
export type ExportIndex = (commit: PinnedCommit, work: IndexExport, target: ExportTarget) => Promise<number>

type Export = Extract<TaskContent, { readonly kind: 'export' }>

/** Returns the indexes that a task exports. For each index, the first matching pattern in ascending order applies. */
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
