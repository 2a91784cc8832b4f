import { type Api, ask, indexPath, type Json, wrongArgument } from '../api.js'
import { HITS_MAX, QUERIES_MAX } from '../limits.js'
import { filterField, input, objects, output, type Tool, text, texts, uidField, whole } from '../tool.js'

/** Parameters of a query that the tool describes. The route accepts all others of `POST /multi-search` too. */
const queryFields = {
  indexUid: uidField,
  q: text('Words to search for; absent or empty: all documents. Typos and word beginnings match'),
  filter: filterField,
  sort: texts('Order by sortable attributes, such as ["year:desc"]; absent: by relevance'),
  facets: texts('Filterable attributes whose values are counted over all hits; ["*"]: all'),
  limit: whole('Number of hits, 20 if absent. 0: only counts', HITS_MAX),
  offset: whole('Hits to skip'),
  attributesToRetrieve: texts('Attributes of the hits; absent: all. Name few to save space'),
  attributesToSearchOn: texts('Searchable attributes to search in; absent: all'),
  matchingStrategy: {
    enum: ['last', 'all', 'frequency'],
    description: '`all`: hits contain all words. `last` (default): the last words may be missing',
  },
  distinct: text('A filterable attribute: one hit per value'),
  showRankingScore: { type: 'boolean', description: 'Adds `_rankingScore`, from 0 to 1, to hits' },
  hybrid: {
    type: ['object', 'null'],
    properties: {
      embedder: text('One of `embedders` of describeIndex'),
      semanticRatio: {
        type: 'number',
        minimum: 0,
        maximum: 1,
        description: '0: words alone. 1: meaning alone',
      },
    },
    required: ['embedder'],
    additionalProperties: false,
    description:
      'Search by meaning. Absent: words and meaning if the index has an embedder. null: words alone',
  },
  page: whole('Page from 1, in place of offset; counts all hits exactly in `totalHits`'),
  hitsPerPage: whole('Hits of a page, in place of limit', HITS_MAX),
  rankingScoreThreshold: { type: 'number', minimum: 0, maximum: 1 },
  federationOptions: {
    type: 'object',
    description: 'With `federation`: {"weight": 2} doubles scores of this query',
  },
}

/** Runs searches. @param indexes a text that names the indexes with their attributes; empty: not known */
export const searchTool = (indexes: string): Tool => ({
  name: 'searchInIndexes',
  title: 'Search documents',
  description: `Searches one or several indexes. Each query has its own result in \`results\`; with \`federation\` the hits are \
merged into one list. \`estimatedTotalHits\` counts the matching documents.${indexes}`,
  inputSchema: input(
    {
      queries: {
        type: 'array',
        minItems: 1,
        maxItems: QUERIES_MAX,
        items: input(queryFields, ['indexUid']),
        description: 'The searches, such as [{"indexUid": "films", "q": "space", "filter": "year > 1990"}]',
      },
      federation: {
        type: 'object',
        description: 'Merges the hits of all queries. {"limit": 10} is the limit of the merged list',
      },
    },
    ['queries'],
  ),
  outputSchema: output({
    results: objects,
    hits: objects,
    estimatedTotalHits: { type: 'integer' },
    truncated: { type: 'string' },
  }),
  actions: [['search']],
  writes: 'never',
  lists: ['results.hits', 'hits'],
  shorter: 'set `attributesToRetrieve` to the attributes that you need, or a smaller `limit`',
  async run(args, api, signal) {
    const body = await withMeaning(checked(args), api, signal)
    return ask(api, { method: 'POST', path: '/multi-search', body, signal })
  },
})

/** Checks the cost of a search. Other mistakes are left to the route. */
function checked(args: Json): Json {
  const { queries, federation } = args
  if (!Array.isArray(queries)) return args
  if (queries.length > QUERIES_MAX)
    throw wrongArgument(`\`queries\` has ${queries.length} queries, at most ${QUERIES_MAX} are accepted`)
  for (const one of [...queries, federation])
    for (const name of ['limit', 'hitsPerPage']) {
      const value = isObject(one) ? one[name] : undefined
      if (typeof value === 'number' && value > HITS_MAX)
        throw wrongArgument(
          `\`${name}\` is ${value}, at most ${HITS_MAX} is accepted; read more with \`offset\`, or count with \`facets\``,
        )
    }
  return args
}

/** Adds `hybrid` to queries with words that say nothing about it, if their index has an embedder. */
async function withMeaning(args: Json, api: Api, signal: AbortSignal | undefined): Promise<Json> {
  if (!Array.isArray(args.queries)) return args
  const embedders = new Map<string, Promise<string | null>>()
  const queries = await Promise.all(
    args.queries.map(async (query: unknown) => {
      if (!isObject(query) || typeof query.indexUid !== 'string' || !hasWords(query)) return query
      if (['hybrid', 'vector', 'media'].some((name) => Object.hasOwn(query, name))) return query
      const known = embedders.get(query.indexUid) ?? firstEmbedder(query.indexUid, api, signal)
      embedders.set(query.indexUid, known)
      const embedder = await known
      return embedder === null ? query : { ...query, hybrid: { embedder } }
    }),
  )
  return { ...args, queries }
}

async function firstEmbedder(uid: string, api: Api, signal: AbortSignal | undefined): Promise<string | null> {
  const path = indexPath(uid, '/description?examples=false')
  // The search itself reports an unknown index.
  const { embedders } = await ask(api, { method: 'GET', path, signal }).catch((): Json => ({}))
  return Array.isArray(embedders) && typeof embedders[0] === 'string' ? embedders[0] : null
}

const hasWords = ({ q }: Json): boolean => typeof q === 'string' && q.trim() !== ''
const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
