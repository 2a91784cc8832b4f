/** Syntax tree of filters. */

export type Comparison = '=' | '!=' | '>' | '>=' | '<' | '<='

export type Condition =
  | { readonly kind: 'compare'; readonly op: Comparison; readonly value: string }
  | { readonly kind: 'between'; readonly from: string; readonly to: string }
  | { readonly kind: 'in'; readonly values: readonly string[] }
  | { readonly kind: 'null' }
  | { readonly kind: 'empty' }
  | { readonly kind: 'exists' }
  | { readonly kind: 'contains'; readonly value: string }
  | { readonly kind: 'startsWith'; readonly value: string }

/** Kind of vectors that a filter selects. Source: vectors §9.1. */
export type VectorKind =
  | { readonly kind: 'any' | 'userProvided' | 'documentTemplate' | 'regenerate' }
  | { readonly kind: 'fragment'; readonly name: string }

export type Filter =
  | { readonly kind: 'and' | 'or'; readonly items: readonly Filter[] }
  | { readonly kind: 'not'; readonly item: Filter }
  | { readonly kind: 'condition'; readonly field: string; readonly condition: Condition; readonly at: Span }
  | {
      readonly kind: 'radius'
      readonly center: LatLng
      readonly metres: number
      readonly corners: number
      readonly at: Span
    }
  | { readonly kind: 'box'; readonly topRight: LatLng; readonly bottomLeft: LatLng; readonly at: Span }
  | { readonly kind: 'polygon'; readonly corners: readonly LatLng[]; readonly at: Span }
  /** `embedder` null: any. */
  | {
      readonly kind: 'vectors'
      readonly embedder: string | null
      readonly which: VectorKind
      readonly at: Span
    }
  /** Documents with an id in `field` of a document that `item` selects in another index. */
  | { readonly kind: 'foreign'; readonly field: string; readonly item: Filter; readonly at: Span }
  /** Documents with an object at `field` that matches all of `item`. */
  | { readonly kind: 'element'; readonly field: string; readonly item: Filter; readonly at: Span }

export type LatLng = readonly [lat: number, lng: number]

/** Position in an expression, for messages. */
export interface Span {
  readonly text: string
  readonly start: number
  readonly end: number
}
