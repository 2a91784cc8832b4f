import type { Action } from '../../auth/index.js'
import type { Fields, Schema, Type } from '../../requests/index.js'

export type NoFields = Readonly<Record<never, never>>

/** What a route promises. It is served, described and checked by this one value. */
export interface Operation<Q extends Fields = NoFields, B = undefined> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** As the router takes it: `/indexes/:indexUid`. */
  readonly url: string
  /** What it does, in one line. */
  readonly summary: string
  /** What the caller must be allowed to do, all of it; empty: open to everyone. */
  readonly actions: readonly Action[]
  /** Query parameters. A route that declares none ignores its query string. */
  readonly query?: Q
  /** The JSON body. A route that declares none reads none. */
  readonly body?: Type<B>
  /** Bodies that the route streams by itself, by content type. */
  readonly uploads?: Readonly<Record<string, Schema>>
  /** Successful answers by status; null: without a body. */
  readonly answers: Readonly<Record<number, Schema | null>>
  /** Content type of the answers, JSON if not given. */
  readonly answersAs?: string
}
