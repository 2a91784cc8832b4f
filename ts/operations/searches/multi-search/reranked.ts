/** Reorders the first merged hits of a federated search by the scores of a reranker. */
import type { Answer, Paging, SearchRequest } from '../../../engine/index.js'
import { ApiError } from '../../../errors/index.js'
import { type IndexSettings, modelOf, parsedSettings, type RerankerFields } from '../../../settings/index.js'
import {
  beyondTopK,
  documentOf,
  documentsOnly,
  documentText,
  indexUidOf,
  notRanked,
  type Pacer,
  queryPositionOf,
  type Ranking,
  rankedAnswer,
  requireReranker,
  sameHits,
  windowOf,
} from '../reordering/index.js'
import type { SearchServices } from '../services.js'
import type { Completed, ReorderedSearches } from './completed.js'
import { type Federation, shownPosition } from './fields.js'

type Wanted = NonNullable<Federation['rerank']>

/** The reranker of an index, and how it renders documents. */
interface IndexReranker {
  readonly fields: RerankerFields
  readonly searchable: IndexSettings['searchableAttributes']
}

const WHERE = '.federation.rerank'

/**
 * Returns the reordering of a federated search with `rerank`. The service, its key and its time limit are those of the
 * index of the first query. Each index renders its documents by its own template.
 * @throws ApiError if an index lacks the reranker, rerankers use other models, or the queries leave the text open
 */
export async function rerankedFederation(
  { engine, rerankers }: Pick<SearchServices, 'engine' | 'rerankers'>,
  searches: readonly Completed[],
  wanted: Wanted,
  paging: Paging,
): Promise<ReorderedSearches> {
  const entries = new Map(searches.map(({ entry }) => [entry.uid, entry]))
  const revisions = [...entries.values()].map(({ id }) => [id, engine.revision(id)] as const)
  const byIndex = new Map<string, IndexReranker>()
  for (const entry of entries.values()) {
    const settings = parsedSettings(await engine.settings(entry.id))
    const fields = requireReranker(settings, entry, wanted.model, `${WHERE}.model`)
    byIndex.set(entry.uid, { fields, searchable: settings.searchableAttributes })
  }
  const requests = searches.map(({ request }) => request)
  const fields = requireOneModel(byIndex, wanted.model)
  const query = queryOf(searches, wanted)
  const window = windowOf(paging, wanted.topK)
  if (fields === null || query === '' || window === null) {
    const reason = window === null ? beyondTopK(wanted) : 'the search has no query'
    return { requests, paging, apply: async (answer) => notRanked(answer, wanted, reason).body }
  }
  const isPinning = requests.some(({ pins }) => pins.length > 0)
  const detailed = new Set(
    searches
      .filter(({ request }) => request.showRankingScoreDetails)
      .map(({ asked }) => shownPosition(asked)),
  )
  return {
    // The details say which hits are pinned.
    requests: requests.map((request) => ({
      ...request,
      showRankingScoreDetails: request.showRankingScoreDetails || isPinning,
    })),
    paging: window.paging,
    async apply(answer, stop, again) {
      const ranking: Ranking = {
        ...{ rerankers, fields, wanted, query, window, isPinning },
        hidesDetails: (hit) => !detailed.has(queryPositionOf(hit) ?? -1),
        async texts(_, hits, pacer) {
          const ranked = (await withDocuments({ answer, hits, pacer }, again)).slice(0, wanted.topK)
          return pacer.map(ranked, (hit) => textOf(hit, byIndex))
        },
      }
      return (await rankedAnswer(ranking, answer, stop)).body
    },
  }

  /** Returns the hits with all displayed fields. A second search reads them if the client asked for others. */
  async function withDocuments(
    first: { readonly answer: Answer; readonly hits: readonly Buffer[]; readonly pacer: Pacer },
    again: (requests: readonly SearchRequest[]) => Promise<Answer>,
  ): Promise<readonly Buffer[]> {
    if (requests.every(({ attributesToRetrieve }) => attributesToRetrieve === null)) return first.hits
    const search = () => again(requests.map((request) => ({ ...request, ...documentsOnly })))
    return sameHits(first, search, () =>
      revisions.every(([id, revision]) => engine.revision(id) === revision),
    )
  }
}

async function textOf(hit: Buffer, byIndex: ReadonlyMap<string, IndexReranker>): Promise<string> {
  const reranker = byIndex.get(indexUidOf(hit) ?? '')
  if (reranker === undefined) throw new TypeError('a federated hit is from an index that no query searches')
  return documentText(documentOf(hit), reranker.fields, reranker.searchable)
}

/** Returns the text that the model reads: `query`, or else the text that the queries share. */
function queryOf(searches: readonly Completed[], { query }: Wanted): string {
  if (query !== null) return query.trim()
  const texts = searches.map(({ asked, request }) => ({ asked, text: request.q?.trim() ?? '' }))
  const first = texts.find(({ text }) => text !== '')
  const other = texts.find(({ text }) => text !== '' && text !== first?.text)
  if (other === undefined) return first?.text ?? ''
  throw new ApiError(
    'invalid_search_rerank',
    `\`.queries[${first?.asked.position}]\` and \`.queries[${other.asked.position}]\` have different texts: ` +
      `give the one that the model reads as \`${WHERE}.query\``,
  )
}

/** Returns the reranker of the first index; null without any. Scores of different models cannot be compared. */
function requireOneModel(byIndex: ReadonlyMap<string, IndexReranker>, name: string): RerankerFields | null {
  const [first, ...others] = [...byIndex]
  if (first === undefined) return null
  const [uid, { fields }] = first
  const other = others.find(([, one]) => modelOf(one.fields) !== modelOf(fields))
  if (other === undefined) return fields
  throw new ApiError(
    'invalid_search_rerank_model',
    `\`${WHERE}.model\`: the rerankers \`${name}\` of the indexes \`${uid}\` and \`${other[0]}\` differ in ` +
      '`source`, `url`, `model` or `revision`: a federated search needs one model',
  )
}
