import type { Action } from '../../auth/index.js'
import type { Fields, Schema, Type } from '../../requests/index.js'

export type NoFields = Readonly<Record<never, never>>

/** What a route accepts and answers. `serve` enforces it, and the OpenAPI document is made from it. */
export interface Operation<Q extends Fields = NoFields, B = undefined> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** The pattern of its path, as the router takes it: `/indexes/:indexUid`. */
  readonly url: string
  /** What it does, in one line. */
  readonly summary: string
  /** The actions that a key must hold, all of them; empty: the route is open to everyone. */
  readonly actions: readonly Action[]
  /** Query parameters. A route that declares none ignores its query string. */
  readonly query?: Q
  /** Whether parameters that it does not declare are ignored. Default: they are errors. */
  readonly ignoresOthers?: boolean
  /** The JSON body. A route that declares none reads none. */
  readonly body?: Type<B>
  /** Bodies that the handler reads as a stream, by content type. */
  readonly uploads?: Readonly<Record<string, Schema>>
  /** Successful answers by status; null: without a body. */
  readonly answers: Readonly<Record<number, Schema | null>>
  /** Content type of the answers, JSON if not given. */
  readonly answersAs?: string
}
