/** Everything that the server must show after the changes so far. */
export interface State {
  /** Documents of the index `news`: id → text. */
  readonly news: ReadonlyMap<number, string>
  readonly showsIdOnly: boolean
  readonly hasSynonym: boolean
  /** True if `kind` is filterable. */
  readonly isFilterable: boolean
  /** Text of the document in the indexes `left` and `right`. */
  readonly sides: readonly [left: string, right: string]
  /** Text of the document in the index `passing`; null without the index. */
  readonly passing: string | null
  /** Name of the key; null without the key. */
  readonly keyName: string | null
  readonly containsFilter: boolean
  readonly hasRules: boolean
  /** Id of the document of the index `ruled` that a rule puts first. */
  readonly pinned: number
}

export const initialState: State = {
  news: new Map([[1, 'edition 0']]),
  showsIdOnly: false,
  hasSynonym: false,
  isFilterable: false,
  sides: ['west', 'east'],
  passing: 'passing 0',
  keyName: null,
  containsFilter: false,
  hasRules: false,
  pinned: 2,
}

/** Ids of the index `ruled`. */
export const RULED: readonly number[] = [1, 2, 3]

export interface Call {
  readonly method: string
  readonly path: string
  readonly body?: unknown
}

/** Returns the requests that make `initialState`, to be sent one after the other. */
export function preparation(): readonly Call[] {
  const documents = (uid: string, list: readonly object[]): Call => ({
    method: 'POST',
    path: `/indexes/${uid}/documents?primaryKey=id`,
    body: list,
  })
  const { news, sides, passing, pinned } = initialState
  return [
    settingsCall(initialState),
    documents('news', [...news].map(newsDocument)),
    documents('left', [{ id: 1, side: sides[0] }]),
    documents('right', [{ id: 1, side: sides[1] }]),
    documents('passing', [{ id: 1, text: passing }]),
    documents(
      'ruled',
      RULED.map((id) => ({ id, text: 'harbour' })),
    ),
    featuresCall({ ...initialState, hasRules: true }),
    ruleCall(pinned),
    featuresCall(initialState),
  ]
}

export const newsDocument = ([id, text]: readonly [number, string]): object => ({
  id,
  text,
  kind: 'a',
  _vectors: { mine: [id, 1] },
})

/** Sets the settings of `news`. */
export const settingsCall = ({ showsIdOnly, hasSynonym, isFilterable }: State): Call => ({
  method: 'PATCH',
  path: '/indexes/news/settings',
  body: {
    displayedAttributes: showsIdOnly ? ['id'] : ['id', 'text'],
    synonyms: hasSynonym ? { gazette: ['edition'] } : {},
    filterableAttributes: isFilterable ? ['text', 'kind'] : ['text'],
    embedders: { mine: { source: 'userProvided', dimensions: 2 } },
  },
})

export const featuresCall = ({ containsFilter, hasRules }: State): Call => ({
  method: 'PATCH',
  path: '/experimental-features',
  body: { containsFilter, dynamicSearchRules: hasRules },
})

export const ruleCall = (pinned: number): Call => ({
  method: 'PATCH',
  path: '/dynamic-search-rules/harbour',
  body: {
    active: true,
    conditions: { query: { words: 'harbour' } },
    actions: { pin: [{ id: String(pinned), position: 0 }] },
  },
})
