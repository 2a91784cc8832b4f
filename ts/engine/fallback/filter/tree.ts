/** Here is a filter that was read: what does it consist of? */

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

/** Which of a document's vectors are asked for. Source: vectors §9.1. */
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
  /** Documents whose values of `field` are ids of documents of another index that `item` selects. */
  | { readonly kind: 'foreign'; readonly field: string; readonly item: Filter; readonly at: Span }
  /** Documents with one object at `field` for which all of `item` holds. */
  | { readonly kind: 'element'; readonly field: string; readonly item: Filter; readonly at: Span }

export type LatLng = readonly [lat: number, lng: number]

/** Where in which expression something stands, for messages. */
export interface Span {
  readonly text: string
  readonly start: number
  readonly end: number
}
