/** What the native module exports. Kept in step with `crates/node/src/lib.rs` by hand and by the tests. */

import type { ReportFault } from '../background-faults.js'

/** The outcome of any call: a failure, or bytes where there are any. */
export interface Reply {
  /** UTF-8 JSON. */
  readonly body?: Uint8Array
  readonly facts?: NativeFacts
  readonly failure?: NativeFailure
}

export interface NativeFacts {
  readonly degraded: boolean
  readonly usedNegativeOperator: boolean
  readonly terms: number
  /** Absent for a search by words alone. */
  readonly semanticHits?: number
  readonly lacksVector: boolean
  readonly hits: number
  /** Of one search: the byte of the body at which the digits of `processingTimeMs` begin. */
  readonly timeAt?: number
}

export interface NativeFailure {
  /** Of the error table. */
  readonly code: string
  readonly message: string
}

export interface NativeSetup {
  readonly directory: string
  readonly indexingMemoryBytes: number
  readonly indexingThreads: number
  readonly cacheBytes: number
  readonly followsFiles: boolean
}

export interface NativeRequest {
  readonly index: string
  readonly request: Uint8Array
}

/** Vectors made for documents of one embedder; `VectorPage`. */
export interface NativeVectors {
  readonly embedder: string
  readonly docids: Uint32Array
  readonly counts: Uint8Array
  readonly fragments: Uint8Array
  readonly reused: Uint8Array
  readonly rows: Float32Array
}

/** What a search can be stopped by. */
export interface Ticket {
  /** Below 2^32; different for all searches under way. */
  readonly number: number
  /** Nobody waits for the answer from the start. */
  readonly isStopped: boolean
}

/** All indexes of one directory, and the threads that serve them. */
export interface EngineHandle {
  inspect(payload: Uint8Array): Promise<Reply>
  checkFilter(filter: Uint8Array): Promise<Reply>
  prepare(index: string, batch: Uint8Array, isSmall: boolean, ticket?: Ticket): Promise<Reply>
  work(index: string, ticket: number, isSmall: boolean, from?: string): Promise<Reply>
  commit(
    index: string,
    ticket: number,
    isSmall: boolean,
    vectors: readonly NativeVectors[],
  ): Promise<Reply>
  progress(index: string): Promise<Reply>
  abandon(index: string, ticket: number): Promise<Reply>
  undo(index: string, batchUids: readonly number[]): Promise<Reply>
  adopt(index: string): Promise<Reply>
  lastCommit(index: string): Promise<Reply>
  settings(index: string): Promise<Reply>
  settingsCost(index: string, settings: string): Promise<Reply>
  search(index: string, request: Uint8Array, ticket?: Ticket): Promise<Reply>
  explain(index: string, request: Uint8Array, ticket?: Ticket): Promise<Reply>
  multiSearch(requests: readonly NativeRequest[], federation?: Uint8Array, ticket?: Ticket): Promise<Reply>
  facetSearch(index: string, request: Uint8Array, ticket?: Ticket): Promise<Reply>
  stop(ticket: number): void
  similar(index: string, request: Uint8Array): Promise<Reply>
  documents(index: string, request: Uint8Array): Promise<Reply>
  document(index: string, request: Uint8Array): Promise<Reply>
  stats(index: string): Promise<Reply>
  sizes(index: string): Promise<Reply>
  fields(index: string): Promise<Reply>
  pin(index: string): Promise<Reply>
  pinnedSettings(pin: number): Promise<Reply>
  pinnedDocuments(pin: number, request: Uint8Array): Promise<Reply>
  copyPinned(pin: number, directory: string): Promise<Reply>
  unpin(pin: number): Promise<Reply>
  compact(index: string, ticket?: Ticket): Promise<Reply>
  verify(index: string): Promise<Reply>
  rescue(index: string, path: string): Promise<Reply>
  drop(index: string): Promise<Reply>
  list(): Promise<Reply>
  cacheFigures(): Promise<Reply>
  close(): Promise<Reply>
}

export interface Binding {
  /** @param report gets each fault of work in the background; does not keep the process alive */
  readonly EngineHandle: new (setup: NativeSetup, report: ReportFault) => EngineHandle
}

/** Whether a loaded module is the one we mean: a binary of another version may lie at its place. */
export function isBinding(addon: unknown): addon is Binding {
  return (
    typeof addon === 'object' &&
    addon !== null &&
    'EngineHandle' in addon &&
    typeof addon.EngineHandle === 'function'
  )
}
