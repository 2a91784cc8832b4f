import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { ApiError, clientMessages } from '../errors/index.js'
import { withoutTrailing } from '../parse/index.js'
import { isGlobal } from './actions.js'

/** An API key as stored. Its value is not stored but computed from the uid. Dates are RFC 3339. */
export interface KeyRecord {
  readonly uid: string
  readonly name: string | null
  readonly description: string | null
  readonly actions: readonly string[]
  readonly indexes: readonly string[]
  readonly expiresAt: string | null
  readonly createdAt: string
  readonly updatedAt: string
}

/** The durable store of the keys. */
export interface KeyStore {
  keys(): Promise<readonly KeyRecord[]>
  putKey(key: KeyRecord): Promise<void>
  deleteKey(uid: string): Promise<void>
  /** True if this server is a follower with a copy of the keys. It must not write. */
  readonly isCopy: boolean
  /** Calls `read` again after each change of the stored keys by others. */
  onReplaced(read: () => Promise<void>): void
}

/**
 * Returns text that sorts like the date. Dates have no trailing zeros, so their lengths differ, and a final `Z` would
 * sort after digits.
 */
const sortable = (date: string): string => date.slice(0, -1)

/** A key to create. */
interface NewKey {
  /** null: a random uid. */
  readonly uid: string | null
  readonly name: string | null
  readonly description: string | null
  readonly actions: readonly string[]
  readonly indexes: readonly string[]
  readonly expiresAt: string | null
}

/** A change of a key. undefined keeps a member, null clears it. */
interface KeyPatch {
  readonly name: string | null | undefined
  readonly description: string | null | undefined
}

/**
 * The keys of a new instance, in order of creation. Lists show the newest first. Names and descriptions match the API
 * exactly, because clients find these keys by them.
 */
const defaultKeys: readonly NewKey[] = [
  {
    uid: null,
    name: 'Default Chat API Key',
    description: 'Use it to chat and search from the frontend',
    actions: ['chatCompletions', 'search'],
    indexes: ['*'],
    expiresAt: null,
  },
  {
    uid: null,
    name: 'Default Read-Only Admin API Key',
    description:
      'Use it to read information across the whole database. Caution! Do not expose this key on a public frontend',
    actions: ['*.get', 'keys.get'],
    indexes: ['*'],
    expiresAt: null,
  },
  {
    uid: null,
    name: 'Default Admin API Key',
    description:
      'Use it for anything that is not a search operation. Caution! Do not expose it on a public frontend',
    actions: ['*'],
    indexes: ['*'],
    expiresAt: null,
  },
  {
    uid: null,
    name: 'Default Search API Key',
    description: 'Use it to search from the frontend',
    actions: ['search'],
    indexes: ['*'],
    expiresAt: null,
  },
]

/** Returns the value of a key, computed from the master key and the uid: 64 lower-case hex digits. */
function keyValue(masterKey: string, uid: string): string {
  return createHmac('sha256', masterKey).update(uid).digest('hex')
}

/** All keys, a new or changed key, or the uid of a deleted key. */
export type KeyChange =
  | { readonly all: readonly KeyRecord[] }
  | { readonly record: KeyRecord }
  | { readonly uid: string }

/** The keys of the instance in memory. Changes are written through to the store. */
export class KeyBook {
  readonly #store: KeyStore
  readonly #masterKey: string | null
  /** By uid, in order of creation. */
  readonly #keys = new Map<string, { readonly record: KeyRecord; readonly value: Buffer }>()
  readonly #listeners: ((change: KeyChange) => void)[] = []
  #lastMicros = 0
  #changes = 0
  #turn: Promise<unknown> = Promise.resolve()

  private constructor(store: KeyStore, masterKey: string | null) {
    this.#store = store
    this.#masterKey = masterKey
  }

  /** Reads the keys of `store`. Adds the default keys to an empty store first. */
  static async open(store: KeyStore, masterKey: string | null): Promise<KeyBook> {
    const book = new KeyBook(store, masterKey)
    await book.#read()
    if (book.#keys.size === 0 && !store.isCopy) for (const key of defaultKeys) await book.create(key)
    store.onReplaced(() => book.#read())
    return book
  }

  async #read(): Promise<void> {
    this.#replace(await this.#store.keys())
  }

  /** Calls `listener` as soon as a key differs in memory. */
  onChange(listener: (change: KeyChange) => void): void {
    this.#listeners.push(listener)
  }

  /** Applies a change that another book reported. Writes nothing. */
  apply(change: KeyChange): void {
    if ('all' in change) this.#replace(change.all)
    else if ('record' in change) this.#remember(change.record)
    else this.#forget(change.uid)
  }

  #replace(records: readonly KeyRecord[]): void {
    const known = [...records]
    known.sort((a, b) => (sortable(a.createdAt) < sortable(b.createdAt) ? -1 : 1))
    this.#keys.clear()
    for (const record of known) this.#add(record)
    this.#tell({ all: known })
  }

  /** Returns all keys, newest first. */
  list(): readonly KeyRecord[] {
    return [...this.#keys.values()].map(({ record }) => record).reverse()
  }

  /** Returns the value of a key; empty without a master key or for an unknown uid. */
  value(uid: string): string {
    return this.#keys.get(uid)?.value.toString('hex') ?? ''
  }

  byUid(uid: string): KeyRecord | null {
    return this.#keys.get(uid.toLowerCase())?.record ?? null
  }

  /** Returns the key with the value `token`. The comparison takes the same time for every value. */
  byValue(token: string): KeyRecord | null {
    if (this.#masterKey === null || !/^[0-9a-fA-F]{64}$/.test(token)) return null
    const sought = Buffer.from(token, 'hex')
    let match: KeyRecord | null = null
    for (const { record, value } of this.#keys.values()) if (timingSafeEqual(sought, value)) match = record
    return match
  }

  /** @throws ApiError `api_key_not_found` */
  find(uidOrValue: string): KeyRecord {
    const record = this.byUid(uidOrValue) ?? this.byValue(uidOrValue)
    if (record === null) throw new ApiError('api_key_not_found', clientMessages.keyNotFound(uidOrValue))
    return record
  }

  /** @throws ApiError `api_key_already_exists`, `index_scoped_api_key_with_global_action` */
  async create(key: NewKey): Promise<KeyRecord> {
    const isLimited = key.indexes.length > 0 && !key.indexes.includes('*')
    const offending = isLimited ? key.actions.find(isGlobal) : undefined
    if (offending !== undefined) {
      const message = `the action \`${offending}\` concerns the whole instance, but the key is limited to the indexes ${key.indexes.join(', ')}`
      throw new ApiError('index_scoped_api_key_with_global_action', message)
    }
    return this.#inTurn(async () => {
      const uid = key.uid ?? randomUUID()
      if (this.#keys.has(uid))
        throw new ApiError('api_key_already_exists', `an API key with the uid \`${uid}\` exists already`)
      const now = this.#now()
      const { name, description, actions, indexes, expiresAt } = key
      return this.#stored({
        ...{ uid, name, description, actions, indexes, expiresAt },
        ...{ createdAt: now, updatedAt: now },
      })
    })
  }

  /** @throws ApiError `api_key_not_found` */
  update(uidOrValue: string, patch: KeyPatch): Promise<KeyRecord> {
    return this.#inTurn(async () => {
      const record = this.find(uidOrValue)
      return this.#stored({
        ...record,
        name: patch.name === undefined ? record.name : patch.name,
        description: patch.description === undefined ? record.description : patch.description,
        updatedAt: this.#now(),
      })
    })
  }

  /** Creates a key, or replaces the one with its uid. */
  put(key: NewKey & { readonly uid: string }): Promise<KeyRecord> {
    this.#changes++
    return this.#inTurn(async () => {
      const now = this.#now()
      return this.#stored({ ...key, createdAt: this.byUid(key.uid)?.createdAt ?? now, updatedAt: now })
    })
  }

  /** Number of changes by clients. */
  get changes(): number {
    return this.#changes
  }

  /**
   * Makes these the keys of the instance. Writes only what differs. Stops at a change by a client, which is newer.
   * @param changes number of changes before the records were read
   */
  take(records: readonly KeyRecord[], changes: number): Promise<void> {
    return this.#inTurn(async () => {
      const wanted = new Map(records.map((record) => [record.uid, record]))
      for (const { uid } of this.list()) {
        if (wanted.has(uid)) continue
        if (this.#changes !== changes) return
        await this.#store.deleteKey(uid)
        this.#forget(uid)
      }
      let isChanged = false
      for (const record of wanted.values()) {
        if (isDeepStrictEqual(this.byUid(record.uid), record)) continue
        if (this.#changes !== changes) return
        await this.#store.putKey(record)
        isChanged = true
      }
      // Sorts them by their dates.
      if (isChanged) await this.#read()
    })
  }

  /** @throws ApiError `api_key_not_found` */
  delete(uidOrValue: string): Promise<void> {
    this.#changes++
    return this.#inTurn(async () => {
      const { uid } = this.find(uidOrValue)
      await this.#store.deleteKey(uid)
      this.#forget(uid)
    })
  }

  async #stored(record: KeyRecord): Promise<KeyRecord> {
    await this.#store.putKey(record)
    this.#remember(record)
    return record
  }

  /** Runs changes one at a time, so that each builds on the one before it. */
  #inTurn<T>(change: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(change)
    this.#turn = done.catch(() => undefined)
    return done
  }

  #forget(uid: string): void {
    this.#keys.delete(uid)
    this.#tell({ uid })
  }

  #remember(record: KeyRecord): void {
    this.#add(record)
    this.#tell({ record })
  }

  #tell(change: KeyChange): void {
    for (const listener of this.#listeners) listener(change)
  }

  #add(record: KeyRecord): void {
    const value = this.#masterKey === null ? '' : keyValue(this.#masterKey, record.uid)
    this.#keys.set(record.uid, { record, value: Buffer.from(value, 'hex') })
  }

  // Returns strictly increasing microseconds, so that keys created in one millisecond have an order.
  #now(): string {
    const micros = Math.max(this.#lastMicros + 1, Date.now() * 1000)
    this.#lastMicros = micros
    const second = new Date(Math.floor(micros / 1000)).toISOString().slice(0, 19)
    const digits = withoutTrailing(String(micros % 1_000_000).padStart(6, '0'), '0')
    return `${second}${digits === '' ? '' : `.${digits}`}Z`
  }
}
