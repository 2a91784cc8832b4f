/** Schemas of the answers of searches, and of what clients and agents read to search. */
import { namedSchema, orNull, type Schema } from '../../operations/index.js'
import { anyJson, count, document, errorAnswer, flag, listOf, mapTo, record, text } from './schemas.js'

/** A document, with the members that the search asked for in addition to its fields. */
const hit = namedSchema('Hit', {
  type: 'object',
  properties: {
    _formatted: document,
    _matchesPosition: mapTo(
      listOf(record({ start: count, length: count, indices: listOf(count) }, ['indices'])),
    ),
    _rankingScore: { type: 'number' },
    _rankingScoreDetails: { type: 'object' },
  },
  additionalProperties: true,
})
const facetDistribution = mapTo(mapTo(count))
const facetStats = mapTo(record({ min: { type: 'number' }, max: { type: 'number' } }))
const vector = listOf({ type: 'number' })
const metadata = namedSchema(
  'SearchMetadata',
  record({ query: text, queryUid: text, indexUid: text, primaryKey: text, remote: text }, [
    'query',
    'primaryKey',
    'remote',
  ]),
)

/** Paging members: the first three for a search by offset, the other four for a search by page. */
const pagination = {
  limit: count,
  offset: count,
  estimatedTotalHits: count,
  hitsPerPage: count,
  page: count,
  totalPages: count,
  totalHits: count,
}
const onRequest = {
  performanceDetails: mapTo(anyJson),
  remoteErrors: mapTo(errorAnswer),
  semanticHitCount: count,
}
const rerankOutcome = namedSchema(
  'RerankOutcome',
  record({ applied: flag, model: text, hits: count, reason: text }, ['hits', 'reason']),
)
const searchFields = {
  hits: listOf(hit),
  query: text,
  queryVector: vector,
  processingTimeMs: count,
  ...pagination,
  facetDistribution,
  facetStats,
  requestUid: text,
  metadata,
  rerank: rerankOutcome,
  ...onRequest,
}
const always = ['hits', 'query', 'processingTimeMs', 'requestUid', 'indexUid']
const optionalIn = (properties: object): readonly string[] =>
  Object.keys(properties).filter((name) => !always.includes(name))

export const searchAnswer = namedSchema('SearchResult', record(searchFields, optionalIn(searchFields)))

const indexSearchFields = { indexUid: text, ...searchFields }
const federatedFields = {
  hits: listOf(hit),
  queryVectors: mapTo(vector),
  processingTimeMs: count,
  ...pagination,
  facetDistribution,
  facetStats,
  facetsByIndex: mapTo(record({ distribution: facetDistribution, stats: facetStats })),
  requestUid: text,
  metadata: listOf(metadata),
  rerank: rerankOutcome,
  ...onRequest,
}

/** A result per query, or one list merged from all. */
export const multiSearchAnswer: Schema = {
  anyOf: [
    namedSchema(
      'SearchResults',
      record({
        results: listOf(
          namedSchema('IndexSearchResult', record(indexSearchFields, optionalIn(indexSearchFields))),
        ),
      }),
    ),
    namedSchema('FederatedSearchResult', record(federatedFields, optionalIn(federatedFields))),
  ],
}

export const facetSearchAnswer = namedSchema(
  'FacetSearchResult',
  record(
    {
      facetHits: listOf(record({ value: text, count })),
      facetQuery: orNull(text),
      processingTimeMs: count,
      remoteErrors: mapTo(errorAnswer),
    },
    ['remoteErrors'],
  ),
)

const clause = namedSchema(
  'JudgedClause',
  record({
    filter: text,
    operator: { type: 'string', enum: ['and', 'or', 'not', 'condition'] },
    passes: flag,
    clauses: listOf({ $ref: '#/components/schemas/JudgedClause' }),
  }),
)

const words = listOf(text)
const phrase = orNull(listOf(orNull(text)))

const wordStep = namedSchema(
  'WordStep',
  record({
    text,
    parts: orNull(words),
    phrase,
    firstTerm: count,
    lastTerm: count,
    typosMax: count,
    isUnfinished: flag,
    isOptional: flag,
    isInDocument: flag,
    spellings: listOf(
      record({
        kind: {
          type: 'string',
          enum: ['exact', 'phrase', 'prefix', 'synonym', 'stem', 'compound', 'pinyin', 'typo', 'split'],
        },
        text,
        typos: count,
        documents: count,
        places: listOf(record({ attribute: text, position: count })),
      }),
    ),
    spellingsTotal: count,
  }),
)

const searchableFields = { uid: text, primaryKey: orNull(text), numberOfDocuments: count }
export const searchableIndex = namedSchema('SearchableIndex', record(searchableFields))
const describedField = record({ name: text, type: text, min: { type: 'number' }, max: { type: 'number' } }, [
  'min',
  'max',
])
export const indexDescription = namedSchema(
  'IndexDescription',
  record(
    {
      ...searchableFields,
      searchableAttributes: listOf(text),
      filterableAttributes: listOf(text),
      comparableAttributes: listOf(text),
      sortableAttributes: listOf(text),
      embedders: listOf(text),
      fields: listOf(describedField),
      facets: mapTo(listOf(text)),
      filterExamples: listOf(text),
      sortExamples: listOf(text),
      sampleDocuments: listOf(document),
    },
    ['fields', 'facets', 'filterExamples', 'sortExamples', 'sampleDocuments'],
  ),
)

export const explanation = namedSchema(
  'Explanation',
  record({
    id: text,
    isHit: flag,
    position: orNull(count),
    rankingScore: orNull({ type: 'number' }),
    rankingScoreDetails: orNull(mapTo(anyJson)),
    foundBy: orNull({ type: 'string', enum: ['words', 'vectors', 'rule'] }),
    reasons: listOf(
      record(
        {
          kind: {
            type: 'string',
            enum: [
              'filter',
              'excludedWords',
              'missingWords',
              'rankingScoreThreshold',
              'rule',
              'distinct',
              'searchCutoff',
              'tooFarDown',
            ],
          },
          clause,
          words,
          score: { type: 'number' },
          threshold: { type: 'number' },
          uid: text,
          attribute: text,
          id: text,
          hitsLookedAt: count,
          maxTotalHits: count,
        },
        ['clause', 'words', 'score', 'threshold', 'uid', 'attribute', 'id', 'hitsLookedAt', 'maxTotalHits'],
      ),
    ),
    query: record({
      text,
      languages: words,
      ignoredWords: words,
      excludedWords: words,
      steps: listOf(wordStep),
      missingWords: words,
    }),
  }),
)

export const similarAnswer = namedSchema(
  'SimilarResult',
  record(
    {
      hits: listOf(hit),
      id: text,
      processingTimeMs: count,
      limit: count,
      offset: count,
      estimatedTotalHits: count,
      performanceDetails: mapTo(anyJson),
    },
    ['performanceDetails'],
  ),
)
