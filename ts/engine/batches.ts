/** The write path: operations of a batch, the vectors it needs, and its report. */
import type { ErrorCode } from '../errors/index.js'
import type { Remakes } from '../settings/index.js'
import type { IndexId } from './index-id.js'

export type PayloadFormat = 'json' | 'ndjson' | 'csv'

/** A decompressed request body. */
export type Payload = {
  readonly format: PayloadFormat
  /** A single ASCII character; CSV only, default `,`. */
  readonly csvDelimiter?: string
} & (
  | {
      /** Absolute path of a file in the spool. The engine only reads it. */
      readonly path: string
      /** CRC-32 of the file when it was received; absent in tasks of earlier versions. Checked by the task queue. */
      readonly checksum?: number
    }
  | {
      /** The body itself, used for small bodies. */
      readonly text: string
    }
)

/** Result of `inspect`. With `error`, `documents` counts the documents before the error. */
export interface PayloadReport {
  readonly documents: number
  /** `missing_payload` or `malformed_payload`; the message names format, reason and position. */
  readonly error?: Failure
}

/** A user's mistake as a value. `code` is a code of the error table. */
export interface Failure {
  readonly code: ErrorCode
  readonly message: string
}

/** The part of a batch that belongs to one task. Operations are applied in order. */
export type Operation = { readonly taskUid: number } & (
  | {
      readonly kind: 'documents'
      /** `replace` replaces complete documents, `update` merges top-level fields. */
      readonly method: 'replace' | 'update'
      readonly payload: Payload
      /** The `primaryKey` query parameter, or null. */
      readonly primaryKey: string | null
      /** Ignores documents whose id is not in the index yet. */
      readonly skipCreation: boolean
      /** Number of documents that `inspect` counted. Used for progress only; absent if `inspect` did not run. */
      readonly documents?: number
    }
  | { readonly kind: 'deleteByIds'; readonly ids: readonly string[] }
  /** `filter` is the JSON value of the request: a string or a (nested) array. */
  | { readonly kind: 'deleteByFilter'; readonly filter: unknown }
  /**
   * Documents that a script changed or deleted; combines `documents` and `deleteByIds`. `payload` replaces complete
   * documents; null replaces none.
   */
  | {
      readonly kind: 'edit'
      readonly payload: Payload | null
      readonly deleted: readonly string[]
      /** Number of documents the script ran on, for the report. */
      readonly editedDocuments: number
    }
  | { readonly kind: 'clear' }
  /**
   * The complete new settings, as JSON text of `IndexSettings`. `settings/` has merged them already. `remakes` names
   * the embedders whose documents must be checked again; absent: none. `reanalyses`: all documents are cut into words
   * again, even if no setting changes.
   */
  | {
      readonly kind: 'settings'
      readonly settings: string
      readonly remakes?: Remakes
      readonly reanalyses?: boolean
    }
  /** Declares the primary key (index creation and update); null changes nothing. */
  | { readonly kind: 'primaryKey'; readonly primaryKey: string | null }
)

/** The operations of one commit. */
export interface Batch {
  /** Unique per instance, increasing. Stored in the commit, so that a replayed batch is recognised. */
  readonly uid: number
  /** The uid of the index when the batch runs. Used in error messages and to rebuild a task store. */
  readonly indexUid: string
  readonly operations: readonly Operation[]
}

/** Everything that determines the text an embedder gets for a document. */
export interface Rendering {
  /** The embedder's settings. */
  readonly fields: Readonly<Record<string, unknown>>
  readonly searchableAttributes: readonly string[]
}

/** A document whose vectors may have to be replaced. */
export interface WorkItem {
  readonly docid: number
  /** Document id, for messages. */
  readonly id: string
  readonly document: Readonly<Record<string, unknown>>
  /** The document its current vectors were made from. null: always embed again. */
  readonly before: Readonly<Record<string, unknown>> | null
  /** True if its vectors were made from fragments, so that each vector can be kept separately. */
  readonly keeps: boolean
}

/** Documents to check for one embedder before the commit, in ascending docid order. */
export interface WorkPage {
  readonly embedder: string
  readonly after: Rendering
  /** The rendering that applied to `before` of the items. */
  readonly before: Rendering
  readonly items: readonly WorkItem[]
  /** Cursor of the next page, for `work`. */
  readonly next: string
}

/** Vectors for documents of one embedder. Documents of a `WorkPage` that are missing here keep their vectors. */
export interface VectorPage {
  readonly embedder: string
  readonly docids: Uint32Array
  /** Number of vectors of each document. */
  readonly counts: Uint8Array
  /** Fragment number of each vector, or `NO_FRAGMENT`. */
  readonly fragments: Uint8Array
  /** For each vector: 1 keeps the existing vector of that fragment, 0 takes the next row of `rows`. */
  readonly reused: Uint8Array
  /** Row-major. */
  readonly rows: Float32Array
}

/** Fragment number of a vector that was made from the complete document. */
export const NO_FRAGMENT = 255

/** A batch that is merged and validated but not visible yet. Must be passed to `commit` or `abandon` exactly once. */
export interface Prepared {
  readonly index: IndexId
  /** Chosen by the engine; opaque to callers. */
  readonly ticket: number
  /** Number of documents that `work` returns, summed over all embedders. */
  readonly work: number
}

/** A step of the work in progress, as clients see it, with its progress. */
export interface Step {
  readonly currentStep: string
  readonly finished: number
  readonly total: number
}

/** Outcome of one task of a batch inside the engine. */
export interface OperationOutcome {
  readonly taskUid: number
  /** Distinct ids accepted from the payload of this task; `documents` operations only. */
  readonly indexedDocuments?: number
  /** Documents the script ran on; `edit` only. */
  readonly editedDocuments?: number
  /** Documents that this task removed; deletions and `clear` only. */
  readonly deletedDocuments?: number
  /** True if this operation changes `updatedAt` of the index. */
  readonly touched: boolean
  /** Set if this task failed. A failed task changes nothing. */
  readonly error?: Failure
}

/** Result of a commit. Stored inside the commit, so that it survives a crash. */
export interface BatchReport {
  readonly batchUid: number
  /** Uid of the index when the batch ran; it may have changed since. Absent in commits of earlier versions. */
  readonly indexUid?: string
  readonly outcomes: readonly OperationOutcome[]
  readonly primaryKey: string | null
  /** Number of documents in the index after the commit. */
  readonly documents: number
}
