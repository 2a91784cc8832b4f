/**
 * Programs against the package API that the compiler checks with the specs: each line behind `@ts-expect-error` must be
 * an error, every other line must not. Nothing here runs.
 */
import type {
  Attribute,
  Hit,
  Index,
  OpenOptions,
  SearchParameters,
  Settings,
  SettingsPatch,
  Siftd,
  SimilarParameters,
} from '../../ts/index.js'
import type { documentFields, searchFields, similarFields } from '../../ts/operations/index.js'
import type { IndexSettings } from '../../ts/settings/index-settings.js'

interface Film {
  id: number
  title: string
  year: number
  genres?: string[]
  cast?: { name: string; roles: string[] }[]
  director: Person | null
}

interface Person {
  name: string
  friends: Person[]
}

type Equal<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false
const holds = <_T extends true>(): void => undefined

/** The types have every parameter and setting of the API, and no other. */
export function completeness(): void {
  holds<
    Equal<
      keyof SearchParameters,
      Exclude<keyof typeof searchFields, 'q' | 'personalize' | 'useNetwork' | 'inlineRule'>
    >
  >()
  holds<Equal<keyof SimilarParameters, keyof typeof similarFields>>()
  holds<Equal<keyof NonNullable<Parameters<Index['documents']>[0]>, keyof typeof documentFields>>()
  holds<Equal<keyof Settings, keyof IndexSettings>>()
  holds<Equal<keyof SettingsPatch, keyof IndexSettings>>()
}

export function attributes(): void {
  holds<
    Equal<
      Attribute<Pick<Film, 'id' | 'title' | 'cast'>>,
      'id' | 'title' | 'cast' | 'cast.name' | 'cast.roles'
    >
  >()
  const recursive: Attribute<Film> = 'director.friends.friends.name'
  // @ts-expect-error deeper than the bound
  const deeper: Attribute<Film> = 'director.friends.friends.friends.name'
  holds<Equal<Attribute<Record<string, unknown>>, string>>()
  void [recursive, deeper]
}

export async function documents(siftd: Siftd, films: readonly Film[]): Promise<void> {
  const index = siftd.index<Film>('films')
  await index.addDocuments(films, { primaryKey: 'id' })
  await index.addDocuments([{ ...films[0]!, _vectors: { meaning: [1, 2] }, _geo: { lat: 1, lng: 2 } }])
  await index.updateDocuments([{ id: 1, year: 1972 }])
  await siftd.index('films').addDocuments(films)
  // @ts-expect-error a member is missing
  await index.addDocuments([{ id: 1, title: 'Solaris' }])
  // @ts-expect-error a value has another type
  await index.updateDocuments([{ id: 1, year: '1972' }])
  // @ts-expect-error no such attribute
  await index.addDocuments(films, { primaryKey: 'uid' })
  // @ts-expect-error text is no document
  await siftd.index('films').addDocuments(['Solaris'])
  const found = await index.document(1)
  holds<Equal<NonNullable<typeof found>['title'], string>>()
  const page = await index.documents({ fields: ['title'], sort: ['year:desc'], filter: 'year > 1900' })
  holds<Equal<(typeof page.results)[number]['year'], number>>()
}

export async function hits(index: Index<Film>, untyped: Index): Promise<void> {
  const answer = await index.search('solaris', { attributesToHighlight: ['title'], showRankingScore: true })
  const hit: Hit<Film> | undefined = answer.hits[0]
  holds<Equal<NonNullable<typeof hit>['title'], string>>()
  const title: string | undefined = hit?._formatted?.title
  const year: string | undefined = hit?._formatted?.year
  const name: string | undefined = hit?._formatted?.cast?.[0]?.name
  const score: number | undefined = hit?._rankingScore
  const total: number | undefined = answer.estimatedTotalHits
  // @ts-expect-error no such attribute
  void hit?.name
  // @ts-expect-error no such member of an answer
  void answer.total
  const unknownTitle: unknown = (await untyped.search('solaris')).hits[0]?.title
  void [title, year, name, score, total, unknownTitle]
}

export async function parameters(index: Index<Film>, untyped: Index): Promise<void> {
  await index.search('', {
    facets: ['genres', 'cast.name', '*'],
    sort: ['year:desc', '_geoPoint(48.8, 2.3):asc'],
    attributesToRetrieve: ['*'],
    attributesToCrop: ['title:5', 'cast.*'],
    attributesToSearchOn: ['title'],
    distinct: 'director.name',
    hitsPerPage: 5,
  })
  await untyped.search('', { facets: ['anything'], sort: ['any:asc'], filter: 'any = 1' })
  // @ts-expect-error a misspelt parameter
  await index.search('', { atributesToRetrieve: ['title'] })
  // @ts-expect-error a misspelt parameter, of an index without a type
  await untyped.search('', { limt: 1 })
  // @ts-expect-error a misspelt parameter next to right ones
  await untyped.search('', { limit: 1, filter: 'year = 1', offest: 1 })
  // @ts-expect-error no such attribute
  await index.search('', { facets: ['genre'] })
  // @ts-expect-error a sort needs a direction
  await index.search('', { sort: ['year'] })
  // @ts-expect-error no such strategy
  await untyped.search('', { matchingStrategy: 'first' })
  // @ts-expect-error no such attribute
  await index.facetSearch({ facetName: 'genre' })
  // @ts-expect-error a misspelt parameter
  await index.similar({ id: 1, embeder: 'meaning' })
}

export async function filters(
  index: Index<Film>,
  untyped: Index,
  computed: string,
  year: number,
): Promise<void> {
  await index.search('', { filter: 'year > 1900 AND (genres = drama OR NOT cast.name EXISTS)' })
  await index.search('', { filter: ['year > 1900', ['genres = drama', 'genres = horror']] })
  await index.search('', { filter: `year > ${year}` })
  await index.search('', { filter: computed })
  await index.search('', { filter: [computed, [computed]] })
  await index.search('', { filter: '_geoRadius(48.8, 2.3, 100) AND year>=1900' })
  await index.search('', { filter: 'title = "this OR that AND those"' })
  await index.deleteDocuments({ filter: 'year < 1900' })
  await index.facetSearch({ facetName: 'genres', filter: 'year IN [1972, 1979]' })
  // @ts-expect-error no such attribute
  await index.search('', { filter: 'yaer > 1900' })
  // @ts-expect-error no such attribute behind an operator
  await index.search('', { filter: 'year > 1900 AND genre = drama' })
  // @ts-expect-error no such attribute in brackets
  await index.search('', { filter: 'year > 1900 OR NOT (genre=drama)' })
  // @ts-expect-error no such attribute in a list
  await index.search('', { filter: ['year > 1900', ['genre = drama']] })
  // @ts-expect-error no such attribute
  await index.deleteDocuments({ filter: 'yaer < 1900' })
  // @ts-expect-error a filter is not a number
  await untyped.search('', { filter: 3 })
}

export async function settings(index: Index<Film>, untyped: Index): Promise<void> {
  await index.updateSettings({
    searchableAttributes: ['title', 'cast.name'],
    filterableAttributes: [
      'year',
      { attributePatterns: ['cast.*'], features: { facetSearch: true } },
      '_geo',
    ],
    sortableAttributes: ['year'],
    rankingRules: ['words', 'typo', 'year:desc'],
    typoTolerance: { minWordSizeForTypos: { oneTypo: 4 }, disableOnAttributes: ['title'] },
    faceting: { sortFacetValuesBy: { genres: 'count', '*': 'alpha' } },
    embedders: { meaning: { source: 'userProvided', dimensions: 2 }, old: null },
    synonyms: { film: ['movie'] },
    stopWords: null,
  })
  await untyped.updateSettings({ filterableAttributes: ['anything'], rankingRules: ['words', 'any:desc'] })
  const { filterableAttributes, pagination } = await index.settings()
  const max: number = pagination.maxTotalHits
  void [filterableAttributes.includes('year'), max]
  // @ts-expect-error no such attribute
  await index.updateSettings({ sortableAttributes: ['yaer'] })
  // @ts-expect-error a misspelt setting
  await untyped.updateSettings({ sortableAttribute: ['year'] })
  // @ts-expect-error a misspelt member of a setting
  await untyped.updateSettings({ typoTolerance: { enable: true } })
  // @ts-expect-error no such rule
  await index.updateSettings({ rankingRules: ['words', 'typos'] })
}

export async function federations(siftd: Siftd): Promise<void> {
  const merged = await siftd.multiSearch<Film>({
    queries: [{ indexUid: 'films', q: 'solaris', filter: 'year > 1900' }],
    federation: { limit: 1 },
  })
  holds<Equal<(typeof merged.hits)[number]['title'], string>>()
  const listed = await siftd.multiSearch({ queries: [{ indexUid: 'films', q: 'solaris' }] })
  const uid: string | undefined = listed.results[0]?.indexUid
  void uid
  // @ts-expect-error a misspelt parameter of a query
  await siftd.multiSearch({ queries: [{ indexUid: 'films', query: 'solaris' }] })
}

export const embedding: OpenOptions = { directory: 'data.ms', embedderRequestsPerMinute: 3_000, cacheSize: 0 }
export const unserved: OpenOptions = {
  directory: 'data.ms',
  // @ts-expect-error only a server takes snapshots by itself
  scheduleSnapshot: 60,
}
