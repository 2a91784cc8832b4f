/** Types of documents, of their attribute names, and of hits. */

/** A document of unknown shape: any JSON object with a primary key. */
export type Document = Readonly<Record<string, unknown>>

/** Values that stand for themselves, not for nested attributes. */
type Leaf = string | number | boolean | bigint | null | undefined | Date

type Element<V> = V extends readonly (infer E)[] ? Element<E> : V

/** The names of the attributes below `V`. `Levels` bounds the depth, since types may contain themselves. */
type Below<V, Levels extends readonly unknown[]> = Levels extends readonly [unknown, ...infer Rest]
  ? Element<NonNullable<V>> extends infer E
    ? E extends Leaf
      ? never
      : { [K in keyof E & string]: K | `${K}.${Below<E[K], Rest>}` }[keyof E & string]
    : never
  : never

/**
 * The names of the attributes of `T`, with dots before nested ones, down to four levels. Any text if the shape of the
 * documents is unknown.
 */
export type Attribute<T> = string extends keyof T ? string : Below<T, [1, 2, 3, 4]>

/** A pattern of attribute names, such as `cast.*`. */
export type Pattern = `${string}*${string}`

/** A place on earth. Documents have it in `_geo`. */
export interface GeoPoint {
  readonly lat: number
  readonly lng: number
}

/** Fields of documents with a meaning of their own. */
export interface ReservedFields {
  readonly _geo?: GeoPoint | null
  readonly _geojson?: Readonly<Record<string, unknown>> | null
  /** Vectors by embedder. */
  readonly _vectors?: Readonly<
    Record<
      string,
      | readonly number[]
      | readonly (readonly number[])[]
      | {
          readonly embeddings?: readonly number[] | readonly (readonly number[])[] | null
          readonly regenerate: boolean
        }
      | null
    >
  >
}

/** Names of `ReservedFields` that settings and searches accept, whatever the documents declare. */
export type ReservedAttribute = '_geo' | '_geo.lat' | '_geo.lng' | '_geojson'

/** Documents to add: of type `T`, with reserved fields. Any objects if the shape is unknown. */
export type Sent<T> = string extends keyof T ? object : T & ReservedFields

/** Documents to merge: some fields of `T`, among them the primary key. */
export type SentPart<T> = string extends keyof T ? object : Partial<T> & ReservedFields

/** A value of `_formatted`: numbers are text there, strings may contain tags. */
export type Formatted<V> = V extends number
  ? string
  : V extends Leaf
    ? V
    : V extends readonly (infer E)[]
      ? readonly Formatted<E>[]
      : { readonly [K in keyof V]?: Formatted<V[K]> }

/** The position of a match in a field, in bytes of UTF-8. */
export interface MatchPosition {
  readonly start: number
  readonly length: number
  /** Elements of the arrays that lead to the match. */
  readonly indices?: readonly number[]
}

/** Fields that a search adds to a document. */
export interface HitFields<T = Document> {
  /** With `attributesToHighlight` or `attributesToCrop`. */
  readonly _formatted?: string extends keyof T ? Document : Formatted<T>
  /** With `showMatchesPosition`: matches by attribute. */
  readonly _matchesPosition?: Readonly<Record<string, readonly MatchPosition[]>>
  /** With `showRankingScore`: from 0 to 1. */
  readonly _rankingScore?: number
  /** With `showRankingScoreDetails`: by ranking rule. */
  readonly _rankingScoreDetails?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  /** With a sort by `_geoPoint(…)`: metres. */
  readonly _geoDistance?: number
  /** With `retrieveVectors`. */
  readonly _vectors?: Readonly<Record<string, { readonly embeddings: unknown; readonly regenerate: boolean }>>
}

/** A document as a search returns it. `attributesToRetrieve` leaves fields out, which the type does not show. */
export type Hit<T = Document> = T & HitFields<T>
