/** The parts of the API's answers that the page uses. */

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json }
export type Doc = { readonly [key: string]: Json }

export interface IndexInfo {
  readonly uid: string
  readonly primaryKey: string | null
  readonly createdAt: string
  readonly updatedAt: string
}

export interface Field {
  readonly name: string
  readonly displayed: { readonly enabled: boolean }
  readonly searchable: { readonly enabled: boolean }
  readonly sortable: { readonly enabled: boolean }
  readonly distinct: { readonly enabled: boolean }
  readonly filterable: { readonly enabled: boolean; readonly facetSearch: boolean }
}

export interface Page<T> {
  readonly results: readonly T[]
  readonly total: number
}

/** Tasks and batches are paged by uid. */
export interface UidPage<T> extends Page<T> {
  readonly next: number | null
}

export type RuleScore = Readonly<Record<string, Json>> & { readonly order?: number; readonly score?: number }

export interface Hit {
  readonly [key: string]: Json | undefined
}

export interface SearchAnswer {
  readonly query: string
  readonly hits: readonly Hit[]
  readonly processingTimeMs: number
  readonly estimatedTotalHits: number
  readonly semanticHitCount?: number
  readonly facetDistribution?: Readonly<Record<string, Readonly<Record<string, number>>>>
  readonly facetStats?: Readonly<Record<string, { readonly min: number; readonly max: number }>>
  readonly performanceDetails?: Readonly<Record<string, string>>
}

export interface TaskError {
  readonly message: string
  readonly code: string
  readonly type: string
  readonly link: string
}

export type TaskStatus = 'enqueued' | 'processing' | 'succeeded' | 'failed' | 'canceled'

export interface Task {
  readonly uid: number
  readonly batchUid: number | null
  readonly indexUid: string | null
  readonly status: TaskStatus
  readonly type: string
  readonly details: Readonly<Record<string, Json>> | null
  readonly error: TaskError | null
  readonly duration: string | null
  readonly enqueuedAt: string
}

export interface Progress {
  readonly steps: readonly {
    readonly currentStep: string
    readonly finished: number
    readonly total: number
  }[]
  readonly percentage: number
}

export interface Batch {
  readonly uid: number
  readonly progress: Progress | null
  readonly stats: {
    readonly totalNbTasks: number
    readonly status: Readonly<Record<string, number>>
    readonly types: Readonly<Record<string, number>>
    readonly indexUids: Readonly<Record<string, number>>
    readonly progressTrace?: Readonly<Record<string, string>>
  }
  readonly duration: string | null
  readonly startedAt: string
  readonly finishedAt: string | null
  readonly batchStrategy?: string
}

export interface IndexStats {
  readonly numberOfDocuments: number
  readonly isIndexing: boolean
  readonly indexSize: number
  readonly internalDatabaseSizes?: Readonly<Record<string, number>>
  readonly numberOfEmbeddings: number
  readonly numberOfEmbeddedDocuments: number
  readonly fieldDistribution: Readonly<Record<string, number>>
}

export interface Stats {
  readonly databaseSize: number
  readonly lastUpdate: string | null
  readonly indexes: Readonly<Record<string, IndexStats>>
  readonly damagedIndexes?: Readonly<Record<string, string>>
}

export type Settings = Readonly<Record<string, Json>>
