import { createHmac } from 'node:crypto'
import type { ConnectionAnswer } from '../../__test__/support/connection.js'
import { type Call, RULED, type State } from './state.js'

/** A request whose answer depends on the state. */
export interface Question {
  readonly name: string
  readonly call: Call
  /** Authorization; the master key if absent. */
  readonly key?: string
  /** Returns the part of a successful answer to compare. Of an error, its code is compared. */
  readonly seen: (body: ConnectionAnswer['body']) => unknown
  /** Returns what must be seen: a value, or the code of an error. */
  readonly expected: (state: State) => unknown
}

export const KEY_UID = '7b1c9d3e-52a8-4f0c-9c7e-3f6a1d2b4c5e'

type Document = Readonly<Record<string, unknown>>

const byId = (list: unknown): unknown =>
  (list as readonly Document[]).toSorted((a, b) => Number(a.id) - Number(b.id))
const hits = ({ hits }: ConnectionAnswer['body']): unknown => byId(hits)
const search = (uid: string, body: object): Call => ({
  method: 'POST',
  path: `/indexes/${uid}/search`,
  body,
})

const shown = ({ news, showsIdOnly }: State): readonly object[] =>
  [...news].toSorted(([a], [b]) => a - b).map(([id, text]) => (showsIdOnly ? { id } : { id, text }))

/** Questions about the documents of `news`, one per route. */
const ofNews: readonly Question[] = [
  { name: 'a search', call: search('news', { q: 'edition' }), seen: hits, expected: shown },
  {
    name: 'a search by GET',
    call: { method: 'GET', path: '/indexes/news/search?q=edition' },
    seen: hits,
    expected: shown,
  },
  {
    name: 'a multi-search',
    call: {
      method: 'POST',
      path: '/multi-search',
      body: {
        queries: [
          { indexUid: 'news', q: 'edition' },
          { indexUid: 'news', q: '' },
        ],
      },
    },
    seen: ({ results }) => (results as readonly ConnectionAnswer['body'][]).map(hits),
    expected: (state) => [shown(state), shown(state)],
  },
  {
    name: 'a federated search',
    call: {
      method: 'POST',
      path: '/multi-search',
      body: { federation: {}, queries: [{ indexUid: 'news', q: 'edition' }] },
    },
    seen: ({ hits }) => byId((hits as readonly Document[]).map(({ _federation, ...rest }) => rest)),
    expected: shown,
  },
  {
    name: 'a document',
    call: { method: 'GET', path: '/indexes/news/documents/2' },
    seen: (body) => body,
    // The route shows all attributes.
    expected: ({ news }) => (news.has(2) ? { id: 2, text: news.get(2), kind: 'a' } : 'document_not_found'),
  },
  {
    name: 'a facet search',
    call: {
      method: 'POST',
      path: '/indexes/news/facet-search',
      body: { facetName: 'text', facetQuery: 'edition' },
    },
    seen: ({ facetHits }) => (facetHits as readonly Document[]).map(({ value }) => value).toSorted(),
    expected: ({ news }) => [...news.values()].toSorted(),
  },
  {
    name: 'similar documents',
    call: { method: 'POST', path: '/indexes/news/similar', body: { id: 1, embedder: 'mine' } },
    seen: hits,
    expected: (state) => shown(state).filter((one) => (one as Document).id !== 1),
  },
]

const filtered: Question = {
  name: 'a filter',
  call: search('news', { q: '', filter: 'kind = a' }),
  seen: hits,
  expected: (state) => (state.isFilterable ? shown(state) : 'invalid_search_filter'),
}

const bySynonym: Question = {
  name: 'a synonym',
  call: search('news', { q: 'gazette' }),
  seen: hits,
  expected: (state) => (state.hasSynonym ? shown(state) : []),
}

const sides: readonly Question[] = [
  {
    name: 'a swapped index',
    call: search('left', { q: '' }),
    seen: hits,
    expected: ({ sides }) => [{ id: 1, side: sides[0] }],
  },
  {
    name: 'a document of a swapped index',
    call: { method: 'GET', path: '/indexes/right/documents/1' },
    seen: (body) => body,
    expected: ({ sides }) => ({ id: 1, side: sides[1] }),
  },
]

const passing: readonly Question[] = [
  {
    name: 'a search in an index that comes and goes',
    call: search('passing', { q: 'passing' }),
    seen: hits,
    expected: ({ passing }) => (passing === null ? 'index_not_found' : [{ id: 1, text: passing }]),
  },
  {
    name: 'a document of an index that comes and goes',
    call: { method: 'GET', path: '/indexes/passing/documents/1' },
    seen: (body) => body,
    expected: ({ passing }) => (passing === null ? 'index_not_found' : { id: 1, text: passing }),
  },
]

const containing: Question = {
  name: 'an operator of an experimental feature',
  call: search('left', { q: '', filter: 'side CONTAINS x' }),
  seen: hits,
  // With the feature, the attribute is still not filterable.
  expected: ({ containsFilter }) => (containsFilter ? 'invalid_search_filter' : 'feature_not_enabled'),
}

const ruled: Question = {
  name: 'a search with a rule',
  call: search('ruled', { q: 'harbour' }),
  seen: ({ hits }) => (hits as readonly Document[]).map(({ id }) => id),
  expected: ({ hasRules, pinned }) => (hasRules ? [pinned, ...RULED.filter((id) => id !== pinned)] : RULED),
}

/** Returns the questions by subject. */
export function questionsOf(masterKey: string): Readonly<Record<Subject, readonly Question[]>> {
  const key = createHmac('sha256', masterKey).update(KEY_UID).digest('hex')
  const withKey = ({ keyName, sides }: State): unknown =>
    keyName === null ? 'invalid_api_key' : [{ id: 1, side: sides[0] }]
  const keys: readonly Question[] = [
    { name: 'a search with a key', call: search('left', { q: '' }), key, seen: hits, expected: withKey },
    {
      name: 'a search with a tenant token',
      call: search('left', { q: '' }),
      key: tokenOf(key),
      seen: hits,
      expected: withKey,
    },
    {
      name: 'a search in an index that the key does not allow',
      call: search('right', { q: '' }),
      key,
      seen: hits,
      expected: () => 'invalid_api_key',
    },
    {
      name: 'a key',
      call: { method: 'GET', path: `/keys/${KEY_UID}` },
      seen: ({ name }) => name,
      expected: ({ keyName }) => keyName ?? 'api_key_not_found',
    },
  ]
  return {
    news: ofNews,
    settings: [...ofNews, filtered, bySynonym],
    sides,
    passing,
    keys,
    features: [containing],
    rules: [ruled],
  }
}

export type Subject = 'news' | 'settings' | 'sides' | 'passing' | 'keys' | 'features' | 'rules'

function tokenOf(key: string): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const text = `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ searchRules: ['left'], apiKeyUid: KEY_UID })}`
  return `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`
}
