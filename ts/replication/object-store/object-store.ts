/** An object store: objects by key, created atomically or overwritten. */
export interface ObjectStore {
  /** Description for messages, in one line and without secrets. */
  readonly name: string
  /**
   * Creates an object. If several calls create the same key at once, one succeeds.
   * @throws BucketError; if `isUnknown`, the object may have been created
   */
  create(key: string, body: Uint8Array, signal?: AbortSignal): Promise<'created' | 'exists'>
  /** Creates or overwrites an object. @throws BucketError */
  put(key: string, body: Uint8Array, signal?: AbortSignal): Promise<void>
  /** Returns an object; null: it does not exist. @throws BucketError, also if it is longer than `bytesMax` */
  get(key: string, options: ReadOptions): Promise<Buffer | null>
  /** Lists the objects whose keys begin with `prefix`, ascending by their UTF-8 bytes. @throws BucketError */
  list(prefix: string, options?: ListOptions): AsyncIterable<ListedObject>
  /** Deletes an object if it exists. @throws BucketError */
  delete(key: string, signal?: AbortSignal): Promise<void>
}

export interface ReadOptions {
  readonly bytesMax: number
  /** First and last byte to read. Default: all. A shorter object is read to its end. */
  readonly range?: readonly [first: number, last: number] | undefined
  readonly signal?: AbortSignal | undefined
}

export interface ListOptions {
  /** Lists only keys after this one. */
  readonly after?: string
  readonly signal?: AbortSignal | undefined
}

export interface ListedObject {
  readonly key: string
  readonly bytes: number
}

/** A call to the store failed. The message names the store and the key, never a secret. */
export class BucketError extends Error {
  override readonly name = 'BucketError'

  constructor(
    message: string,
    readonly kind: BucketFault,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }

  /** True if a write may have happened or may still happen. */
  get isUnknown(): boolean {
    return this.kind === 'unanswered' || this.kind === 'busy'
  }
}

export type BucketFault =
  /** No answer, or an answer without an outcome: timeout, broken connection, 5xx. */
  | 'unanswered'
  /** The store asks for a retry: 408, 409, 429, 503. */
  | 'busy'
  /** Credentials, address or permissions are wrong. Retries do not help. */
  | 'refused'
  /** The answer is not a valid answer of a store. */
  | 'malformed'
