import type { Action } from '../../auth/index.js'
import type { Fields, Schema, Type } from '../../operations/index.js'

export type NoFields = Readonly<Record<never, never>>

/** Declares the input and output of a route. `serve` enforces it, and the OpenAPI document is made from it. */
export interface Operation<Q extends Fields = NoFields, B = undefined> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Path pattern in the syntax of the router: `/indexes/:indexUid`. */
  readonly url: string
  /** Summary of the operation, in one line. */
  readonly summary: string
  /** The actions that a key must hold, all of them; empty: the route is open to everyone. */
  readonly actions: readonly Action[]
  /** Query parameters. A route that declares none ignores its query string. */
  readonly query?: Q
  /** True if undeclared query parameters are ignored. Default: they are errors. */
  readonly ignoresOthers?: boolean
  /** The JSON body. A route without it reads no body. */
  readonly body?: Type<B>
  /** Bodies that the handler reads as a stream, by content type. */
  readonly uploads?: Readonly<Record<string, Schema>>
  /** Successful answers by status; null: without a body. */
  readonly answers: Readonly<Record<number, Schema | null>>
  /** Content type of the answers, JSON if not given. */
  readonly answersAs?: string
}
