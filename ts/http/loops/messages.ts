/** Messages between the main thread and the threads that answer searches. */
import type { MessagePort } from 'node:worker_threads'
import type { KeyChange } from '../../auth/index.js'
import type { IndexId } from '../../engine/index.js'
import type { FeatureFlags } from '../../instance/index.js'
import type { LogTarget } from '../../launch/index.js'
import type { IndexesChange, RuleBudgets } from '../../tasks/index.js'
import type { LineForm, PassedLine, SearchEvent } from '../../telemetry/index.js'
import type { LoopFigures } from '../loop-figures.js'
import type { CountedSearch } from '../queries/index.js'
import type { HttpOptions } from '../services.js'

/** What the engine of the main thread knows about an index. */
export interface IndexFacts {
  readonly id: IndexId
  readonly revision: number
  /** False: only the main thread may answer, since the index is damaged or was not checked yet. */
  readonly isTrusted: boolean
}

/** A change of what requests depend on. */
export type StateChange =
  | { readonly kind: 'indexes'; readonly change: IndexesChange; readonly facts: readonly IndexFacts[] }
  | { readonly kind: 'facts'; readonly facts: IndexFacts }
  | { readonly kind: 'keys'; readonly change: KeyChange }
  | { readonly kind: 'flags'; readonly flags: FeatureFlags }
  | { readonly kind: 'log'; readonly target: LogTarget }
  /** Number of outdated indexes. */
  | { readonly kind: 'outdated'; readonly count: number }

/** Given to a thread at its start. */
export interface LoopSetup {
  /** Number of the thread, from 1. */
  readonly number: number
  /** Number by which the thread attaches to the engine. */
  readonly engine: number
  /** Descriptors of listening sockets. They belong to the thread. */
  readonly sockets: readonly number[]
  readonly backlog: number
  /** Path of the socket of the main thread. */
  readonly mainPath: string
  /** Receives `StateChange`. The first ones describe the complete state. */
  readonly changes: MessagePort
  /** Number of changes. It is raised after a change is posted and before any client learns of it. */
  readonly version: Int32Array
  readonly masterKey: string | null
  readonly ruleBudgets: RuleBudgets
  readonly options: HttpOptions
  readonly answerCacheBytes: number
  readonly countsUse: boolean
  /** The form of log lines on the console. */
  readonly logForm: LineForm
}

/** From the main thread. */
export type LoopRequest =
  | { readonly kind: 'figures'; readonly call: number }
  /** Stop within `ms`: refuse connections, finish requests, then end. */
  | { readonly kind: 'stop'; readonly ms: number }

/** A call of the main thread's usage counters, or of the counters of a kind of search. */
export interface UsageCall {
  readonly on: 'usage' | SearchEvent
  readonly method: string
  readonly args: readonly unknown[]
  /** Present if the first argument is a search. */
  readonly sent?: SentFields
}

/** Names of the fields of a search that the client sent, and of its member `hybrid`. */
export interface SentFields {
  readonly search: readonly string[]
  readonly hybrid: readonly string[]
}

/** Log lines and counts since the last message. */
export interface Outbox {
  readonly lines: readonly PassedLine[]
  readonly queries: readonly CountedSearch[]
  readonly usage: readonly UsageCall[]
}

/** From a thread. */
export type LoopReport =
  | { readonly kind: 'listening' }
  | ({ readonly kind: 'outbox' } & Outbox)
  | { readonly kind: 'figures'; readonly call: number; readonly figures: LoopFigures }
