/** Types of filters. A filter that is written out in the program may only name attributes of the documents. */
import type { Attribute } from './document-types.js'

/** A filter as text, or as a list of conditions and alternatives. */
export type Filter = string | readonly (string | readonly string[])[]

/** The part of `S` before the first `Mark`. */
type Before<S extends string, Mark extends string> = S extends `${infer Head}${Mark}${string}` ? Head : S

/** The name at the start of a condition. */
type Name<S extends string> = Before<Before<Before<Before<Before<Before<S, ' '>, '='>, '!'>, '<'>, '>'>, '('>

/** A condition without its opening brackets, spaces and `NOT`. */
type Bare<S extends string> = S extends ` ${infer Rest}` | `(${infer Rest}` | `NOT ${infer Rest}`
  ? Bare<Rest>
  : S

/** Names that are no attributes: geo conditions and other reserved words, quoted names, nothing. */
type Exempt = `_${string}` | `"${string}` | `'${string}` | ''

type UnknownName<T, S extends string> =
  Name<Bare<S>> extends infer N extends string ? (N extends Attribute<T> | Exempt ? never : N) : never

/** The names of `S` that are not attributes. The text behind a quotation mark is not read, since it may be a value. */
type UnknownNames<T, S extends string> = S extends
  | `${infer Head} AND ${infer Rest}`
  | `${infer Head} OR ${infer Rest}`
  ? UnknownName<T, Head> | UnknownNames<T, Rest>
  : UnknownName<T, S>

type CheckedText<T, S extends string> = string extends S
  ? S
  : [UnknownNames<T, Before<Before<S, '"'>, "'">>] extends [never]
    ? S
    : `the documents have no attribute ${UnknownNames<T, Before<Before<S, '"'>, "'">>}`

/** `F` if it names only attributes of `T`, else a text that says which name is unknown. Computed texts are not checked. */
export type Checked<T, F> =
  string extends Attribute<T>
    ? F
    : F extends string
      ? CheckedText<T, F>
      : F extends readonly unknown[]
        ? { readonly [I in keyof F]: Checked<T, F[I]> }
        : F
