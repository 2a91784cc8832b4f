/** Tools that read, apart from the search. */
import { ask, indexPath, type Json, wrongArgument } from '../api.js'
import { HITS_MAX } from '../limits.js'
import { filterField, input, objects, output, type Tool, text, texts, uidField, whole } from '../tool.js'

const LISTED_MAX = 1000

export const listIndexes: Tool = {
  name: 'listIndexes',
  title: 'List indexes',
  description: 'Lists the indexes that you may search, with the number of documents.',
  inputSchema: input({ offset: whole('Indexes to skip'), limit: whole('20 if absent', LISTED_MAX) }, []),
  outputSchema: output({ results: objects, total: { type: 'integer' } }),
  actions: [['search'], ['indexes.get']],
  writes: 'never',
  lists: ['results'],
  shorter: 'set a smaller `limit`',
  async run({ offset = 0, limit = 20, ...others }, api, signal) {
    refuseOthers(others, ['offset', 'limit'])
    const path = (await api.allows('search')) ? '/descriptions' : '/indexes'
    const page = new URLSearchParams({ offset: String(offset), limit: String(limit) })
    return ask(api, { method: 'GET', path: `${path}?${page}`, signal })
  },
}

export const describeIndex: Tool = {
  name: 'describeIndex',
  title: 'Describe an index',
  description:
    'Describes an index before you search it: fields with types and ranges, the attributes that can be filtered, compared ' +
    'and sorted, example values, valid filters and sorts, and some documents (long texts are shortened).',
  inputSchema: input({ indexUid: uidField }, ['indexUid']),
  outputSchema: output({
    uid: { type: 'string' },
    numberOfDocuments: { type: 'integer' },
    fields: objects,
    filterableAttributes: { type: 'array', items: { type: 'string' } },
    sortableAttributes: { type: 'array', items: { type: 'string' } },
    sampleDocuments: objects,
  }),
  actions: [['search']],
  writes: 'never',
  lists: ['sampleDocuments', 'fields'],
  shorter: 'search the index with a small `limit` to see its documents',
  async run({ indexUid, ...others }, api, signal) {
    refuseOthers(others, ['indexUid'])
    const path = indexPath(requiredText('indexUid', indexUid), '/description')
    return ask(api, { method: 'GET', path, signal })
  },
}

export const facetSearch: Tool = {
  name: 'facetSearch',
  title: 'Find values of an attribute',
  description:
    'Finds values of a filterable attribute, with the number of documents of each. Use it to learn the spelling of a value ' +
    'before you filter by it.',
  inputSchema: input(
    {
      indexUid: uidField,
      facetName: text('The filterable attribute'),
      facetQuery: text('Beginning of the value, typos allowed; absent: the first values'),
      q: text('Counts only documents that match these words'),
      filter: filterField,
    },
    ['indexUid', 'facetName'],
  ),
  outputSchema: output({ facetHits: objects, facetQuery: { type: ['string', 'null'] } }),
  actions: [['search']],
  writes: 'never',
  lists: ['facetHits'],
  shorter: 'set `facetQuery`',
  async run({ indexUid, ...body }, api, signal) {
    refuseOthers(body, ['indexUid', 'facetName', 'facetQuery', 'q', 'filter'])
    return ask(api, {
      method: 'POST',
      path: indexPath(requiredText('indexUid', indexUid), '/facet-search'),
      body,
      signal,
    })
  },
}

export const getDocuments: Tool = {
  name: 'getDocuments',
  title: 'Get documents by id',
  description: 'Returns the documents with these ids, complete. Unknown ids are left out.',
  inputSchema: input(
    {
      indexUid: uidField,
      ids: {
        type: 'array',
        items: { type: ['string', 'integer'] },
        minItems: 1,
        maxItems: HITS_MAX,
        description: 'Values of the primary key',
      },
      fields: texts('Attributes to return; absent: all'),
    },
    ['indexUid', 'ids'],
  ),
  outputSchema: output({ results: objects, total: { type: 'integer' } }),
  actions: [['documents.get']],
  writes: 'never',
  lists: ['results'],
  shorter: 'ask for fewer `ids` or name the `fields` that you need',
  async run({ indexUid, ids, fields, ...others }, api, signal) {
    refuseOthers(others, ['indexUid', 'ids', 'fields'])
    if (!Array.isArray(ids) || ids.length === 0)
      throw wrongArgument('`ids` must be a list of ids, such as [1, 2]')
    if (ids.length > HITS_MAX)
      throw wrongArgument(`\`ids\` has ${ids.length} ids, at most ${HITS_MAX} are accepted`)
    return ask(api, {
      method: 'POST',
      path: indexPath(requiredText('indexUid', indexUid), '/documents/fetch'),
      body: { ids, limit: ids.length, ...(fields !== undefined && { fields }) },
      signal,
    })
  },
}

export const explainHit: Tool = {
  name: 'explainHit',
  title: 'Explain a hit',
  description:
    'Explains the position of a document among the hits of a search: score, details of each ranking rule, matched words. ' +
    'For a document that is no hit it gives the reasons, such as a missing word or the part of the filter that fails.',
  inputSchema: input(
    {
      indexUid: uidField,
      id: { type: ['string', 'integer'], description: 'The id of the document' },
      q: text('The words of the search'),
      filter: filterField,
    },
    ['indexUid', 'id'],
  ),
  outputSchema: output({
    isHit: { type: 'boolean' },
    position: { type: ['integer', 'null'] },
    reasons: objects,
  }),
  actions: [['search']],
  writes: 'never',
  lists: ['query.steps'],
  shorter: 'search for fewer words',
  async run({ indexUid, ...body }, api, signal) {
    return ask(api, {
      method: 'POST',
      path: indexPath(requiredText('indexUid', indexUid), '/explain'),
      body,
      signal,
    })
  },
}

/** @throws ToolError */
export function requiredText(name: string, value: unknown): string {
  if (typeof value === 'string' && value !== '') return value
  const problem = value === undefined ? 'is missing' : `is ${JSON.stringify(value)?.slice(0, 100)}`
  throw wrongArgument(`\`${name}\` ${problem}; it must be a text that is not empty`)
}

/** @throws ToolError for members that the tool does not know */
export function refuseOthers(others: Json, known: readonly string[]): void {
  const [other] = Object.keys(others).filter((name) => !known.includes(name))
  if (other === undefined) return
  const names = known.map((name) => `\`${name}\``).join(', ')
  throw wrongArgument(`unknown argument \`${other.slice(0, 100)}\`; the arguments are ${names}`)
}
