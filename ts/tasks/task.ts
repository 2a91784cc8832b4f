import type { Payload } from '../engine/index.js'
import type { RecordedError } from '../errors/index.js'
import type { RulePatch } from './rules/index.js'

export const taskTypes = [
  'documentAdditionOrUpdate',
  'documentEdition',
  'documentDeletion',
  'settingsUpdate',
  'indexCreation',
  'indexDeletion',
  'indexUpdate',
  'indexSwap',
  'taskCancelation',
  'taskDeletion',
  'dumpCreation',
  'snapshotCreation',
  'export',
  'upgradeDatabase',
  'indexCompaction',
  'networkTopologyChange',
  'dsrUpdate',
  'dsrClear',
] as const
export type TaskType = (typeof taskTypes)[number]

export const taskStatuses = ['enqueued', 'processing', 'succeeded', 'failed', 'canceled'] as const
export type TaskStatus = (typeof taskStatuses)[number]

/** The work of a task, with all data to run it again after a crash. */
export type TaskContent =
  | {
      readonly kind: 'documents'
      readonly method: 'replace' | 'update'
      /** A path is relative to the spool directory. */
      readonly payload: Payload
      readonly payloadBytes: number
      readonly receivedDocuments: number
      readonly primaryKey: string | null
      readonly skipCreation: boolean
      readonly mayCreateIndex: boolean
    }
  | { readonly kind: 'deleteByIds'; readonly ids: readonly string[] }
  | { readonly kind: 'deleteByFilter'; readonly filter: unknown }
  /** `filter` null: all documents. */
  | {
      readonly kind: 'edit'
      readonly function: string
      readonly filter: unknown
      readonly context: Readonly<Record<string, unknown>> | null
    }
  | { readonly kind: 'clear' }
  | {
      readonly kind: 'settings'
      /** JSON text, as validated by `settings/`: the keys of the request; null resets a key. */
      readonly patch: string
      /** JSON text for `details`; empty once the task is stored, because its row has it. */
      readonly details: string
      /** True for a DELETE, which never creates the index. */
      readonly isReset: boolean
      readonly mayCreateIndex: boolean
      /** True to cut all documents into words again, even if no setting changes. Absent: false. */
      readonly reanalyses?: boolean
    }
  | { readonly kind: 'indexCreation'; readonly primaryKey: string | null }
  | { readonly kind: 'indexUpdate'; readonly primaryKey: string | null; readonly newUid: string | null }
  | { readonly kind: 'indexDeletion' }
  | {
      readonly kind: 'indexSwap'
      readonly swaps: readonly { readonly indexes: readonly [string, string]; readonly rename: boolean }[]
    }
  | { readonly kind: 'indexCompaction' }
  /** `tasks`: the uids that matched when the request arrived. `query`: `?` + the raw query string. */
  | { readonly kind: 'taskCancelation'; readonly query: string; readonly tasks: readonly number[] }
  | { readonly kind: 'taskDeletion'; readonly query: string; readonly tasks: readonly number[] }
  /** Versions of this service, `major.minor.patch`. */
  | { readonly kind: 'upgradeDatabase'; readonly from: string; readonly to: string }
  | { readonly kind: 'dumpCreation' }
  | { readonly kind: 'snapshotCreation' }
  /** `patch` null: removes the rule. */
  | { readonly kind: 'dsrUpdate'; readonly uid: string; readonly patch: RulePatch | null }
  | { readonly kind: 'dsrClear' }
  | {
      readonly kind: 'export'
      readonly url: string
      readonly apiKey: string | null
      /** Bytes of documents per request; null: a default. */
      readonly payloadBytesMax: number | null
      /** True to send API keys and secret headers of embedders. Absent: false, as in tasks of earlier versions. */
      readonly withSecrets?: boolean
      /** Features at the time of the request. Absent: none, as in tasks of earlier versions. */
      readonly features?: ExportedFeatures
      readonly indexes: readonly {
        readonly pattern: string
        readonly filter: unknown
        readonly overrideSettings: boolean
      }[]
    }

/** The kind of a `TaskContent`, and the place of its upload. */
export interface ContentHead {
  readonly kind: TaskContent['kind']
  readonly payload?: { readonly path: string } | { readonly text: string }
}

/** Features whose settings are exported. */
export interface ExportedFeatures {
  readonly foreignKeys: boolean
  readonly chatCompletions: boolean
}

/** A task in the API's format, keys in rendering order. Dates are RFC 3339, UTC. */
export interface Task {
  readonly uid: number
  readonly batchUid: number | null
  readonly indexUid: string | null
  readonly status: TaskStatus
  readonly type: TaskType
  readonly canceledBy: number | null
  /** Absent for types without details. */
  readonly details?: Readonly<Record<string, unknown>>
  readonly error: RecordedError | null
  /** ISO 8601, e.g. `PT0.009330S`. */
  readonly duration: string | null
  readonly enqueuedAt: string
  readonly startedAt: string | null
  readonly finishedAt: string | null
  readonly customMetadata?: string
}

/** The answer to an accepted write. */
export interface TaskSummary {
  readonly taskUid: number
  readonly indexUid: string | null
  readonly status: 'enqueued'
  readonly type: TaskType
  readonly enqueuedAt: string
  readonly customMetadata?: string
}

/** A batch in the API's format. */
export interface BatchView {
  readonly uid: number
  readonly progress: unknown
  readonly details: Readonly<Record<string, unknown>>
  readonly stats: Readonly<Record<string, unknown>>
  readonly duration: string | null
  readonly startedAt: string
  readonly finishedAt: string | null
  readonly batchStrategy: string
}
