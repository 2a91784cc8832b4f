/**
 * Progress of a sync, stored in the target. Together with the slot of the database it tells whether changes are missing:
 * a target that was restored from a backup is older than its slot.
 */
import type { Destination } from './destination.js'
import type { Key, Position } from './source.js'

export const SYNC_INDEX = '_siftd_sync'

/** Progress of one index. */
export type MappingProgress =
  /** Copied rows are in the index `into`. */
  | {
      readonly state: 'copying'
      readonly fingerprint: string
      readonly into: string
      /** Key of the last copied row; null: none is copied. */
      readonly after: Key | null
      readonly rows: number
    }
  /** All documents are in the index `into`, which may have been swapped. */
  | { readonly state: 'swapping'; readonly fingerprint: string; readonly into: string }
  | { readonly state: 'ready'; readonly fingerprint: string }
  /** The documents cannot be read. Changes are ignored until they can, and then all are copied. */
  | { readonly state: 'broken'; readonly reason: string }

export interface SyncState {
  /** Identity of the database. */
  readonly source: string
  /** All changes before it are in the target. */
  readonly position: Position
  readonly mappings: Readonly<Record<string, MappingProgress>>
}

/** Requests of commands to a running sync. */
interface SyncRequests {
  readonly isPaused: boolean
  /** Uids of indexes to copy again. */
  readonly resync: readonly string[]
}

const noRequests: SyncRequests = { isPaused: false, resync: [] }

export class ProgressStore {
  readonly #target: Destination
  readonly #name: string

  constructor(target: Destination, name: string) {
    this.#target = target
    this.#name = name
  }

  async create(): Promise<void> {
    await this.#target.ensureIndex(SYNC_INDEX, 'id')
  }

  async load(): Promise<(SyncState & { readonly savedAt: string }) | null> {
    return this.#target.document(SYNC_INDEX, this.#name)
  }

  /** Resolves when the state is durable in the target. */
  async save(state: SyncState): Promise<void> {
    await this.#put(this.#name, { ...state, savedAt: new Date().toISOString() })
  }

  async requests(): Promise<SyncRequests> {
    return {
      ...noRequests,
      ...(await this.#target.document<Partial<SyncRequests>>(SYNC_INDEX, this.#requestsId)),
    }
  }

  async request(requests: SyncRequests): Promise<void> {
    await this.#put(this.#requestsId, requests)
  }

  get #requestsId(): string {
    return `${this.#name}-requests`
  }

  async #put(id: string, document: object): Promise<void> {
    await this.#target.put(SYNC_INDEX, 'id', [{ id, line: JSON.stringify({ ...document, id }) }])
  }
}
