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

export type Filter =
  | { readonly kind: 'and' | 'or'; readonly items: readonly Filter[] }
  | { readonly kind: 'not'; readonly item: Filter }
  | { readonly kind: 'condition'; readonly field: string; readonly condition: Condition; readonly at: Span }
  | (Area & {
      readonly kind: 'radius'
      readonly center: LatLng
      readonly metres: number
      readonly corners: number
    })
  | (Area & { readonly kind: 'box'; readonly topRight: LatLng; readonly bottomLeft: LatLng })
  | (Area & { readonly kind: 'polygon'; readonly corners: readonly LatLng[] })
  /** Documents with vectors of the embedder and kind given by the names; without names, with any vectors. */
  | { readonly kind: 'vectors'; readonly names: readonly string[]; readonly at: Span }
  /** Documents with an id in `field` of a document that `item` selects in another index. */
  | { readonly kind: 'foreign'; readonly field: string; readonly item: Filter; readonly at: Span }
  /** Documents with an object at `field` that matches all of `item`. */
  | { readonly kind: 'element'; readonly field: string; readonly item: Filter; readonly at: Span }

interface Area {
  /** The first argument out of range, which is refused once the settings are known to allow the filter; null: none. */
  readonly fault: Error | null
  readonly at: Span
}

export type LatLng = readonly [lat: number, lng: number]

/** Position in an expression, for messages. */
export interface Span {
  readonly text: string
  readonly start: number
  readonly end: number
}
