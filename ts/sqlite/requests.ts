/** Requests to the thread of a store, and its answers. */

/** The methods that a thread executes. Arguments and results are structured clones. */
export type Calls<C> = { readonly [Name in keyof C]: (...given: never[]) => unknown }

export interface Request<C> {
  readonly id: number
  readonly call: keyof C & string
  readonly arguments: readonly unknown[]
}

export type Reply = { readonly id: number; readonly ok: true; readonly result: unknown } | FailedReply

export interface FailedReply {
  readonly id: number
  readonly ok: false
  /** `doubtful`: the disk failed, and the write may be present after a restart. */
  readonly fault: 'full' | 'readonly' | 'doubtful' | 'other'
  readonly message: string
}

/** Facts about the calls of a store. */
export interface CallRules<C> {
  /** Calls that write. `durable`: the caller waits until the transaction is synced. */
  readonly writing: Readonly<Partial<Record<keyof C, 'durable' | 'relaxed'>>>
  /** True for writes that are refused first when the disk or the store becomes full. */
  isOrdinary(request: Request<C>): boolean
  /** Paths of files to remove after a write, before the caller receives the answer. */
  filesAfter(request: Request<C>): readonly string[]
}
