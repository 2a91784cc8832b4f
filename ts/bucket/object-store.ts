/** An object store, as far as this service needs it: whole objects by key, created atomically or overwritten. */
export interface ObjectStore {
  /** Says in one line which store it is; holds no secret. */
  readonly name: string
  /**
   * Creates an object; of several that create the same key at once, one succeeds.
   * @throws BucketError of which `isUnknown` tells whether the object may have been created all the same
   */
  create(key: string, body: Uint8Array, signal?: AbortSignal): Promise<'created' | 'exists'>
  /** Creates or overwrites an object. @throws BucketError */
  put(key: string, body: Uint8Array, signal?: AbortSignal): Promise<void>
  /** null: there is none. @throws BucketError if the answer is longer than `bytesMax`, among others */
  get(key: string, options: ReadOptions): Promise<Buffer | null>
  /** Lists the objects whose keys begin with `prefix`, ascending by their UTF-8 bytes. @throws BucketError */
  list(prefix: string, options?: ListOptions): AsyncIterable<ListedObject>
  /** Deletes an object, if it is there. @throws BucketError */
  delete(key: string, signal?: AbortSignal): Promise<void>
}

export interface ReadOptions {
  readonly bytesMax: number
  /** The first and the last byte to read. Absent: all. An object that ends before is read to its end. */
  readonly range?: readonly [first: number, last: number]
  readonly signal?: AbortSignal
}

export interface ListOptions {
  /** Keys up to this one, itself included, are left out. */
  readonly after?: string
  readonly signal?: AbortSignal
}

export interface ListedObject {
  readonly key: string
  readonly bytes: number
}

/** The store did not do what it was asked. The message names the store and the key, never a secret. */
export class BucketError extends Error {
  override readonly name = 'BucketError'

  constructor(
    message: string,
    readonly kind: BucketFault,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }

  /** Whether a write may have happened, or may happen yet. */
  get isUnknown(): boolean {
    return this.kind === 'unanswered' || this.kind === 'busy'
  }
}

export type BucketFault =
  /** No answer, or one that says nothing: a time-out, a broken connection, 5xx. */
  | 'unanswered'
  /** It asks to come back later: 409, 429, 503. */
  | 'busy'
  /** Credentials, address or rights are wrong: no repetition helps. */
  | 'refused'
  /** What was read is not what a store answers. */
  | 'malformed'
