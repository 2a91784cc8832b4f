/** Reorders the hits of several searches, or the merged hits of a federated search. */
import type { Paging } from '../../../engine/index.js'
import { ApiError } from '../../../errors/index.js'
import { parsedSettings } from '../../../settings/index.js'
import { searchBudgetMs } from '../embedding.js'
import { bufferOf, changedResults, personalized, type Reordering, reorderingOf } from '../reordering/index.js'
import type { SearchServices } from '../services.js'
import { inside } from './checks.js'
import type { Completed, ReorderedSearches } from './completed.js'
import { type Federation, type PositionedQuery, shownPosition } from './fields.js'
import { rerankedFederation } from './reranked.js'

/** The parameters of a federation that reorder its hits. */
export type FederationOrder = Pick<Federation, 'personalize' | 'rerank'>

type Services = Pick<SearchServices, 'engine' | 'answers' | 'rerankers'>

/** Returns the reordering of separate searches; null if none of them has one. @throws ApiError */
export async function reorderedQueries(
  services: Services,
  searches: readonly Completed[],
  started: number,
): Promise<ReorderedSearches | null> {
  if (searches.every(({ asked: { query } }) => query.rerank === null && query.personalize === null))
    return null
  const inTurn = { ...services, answers: oneByOne(services.answers) }
  const reorderings: (Reordering | null)[] = []
  for (const { asked, entry, request } of searches) {
    const { query } = asked
    reorderings.push(await at(asked, () => reorderingOf(inTurn, entry, request, query, started)))
  }
  return {
    requests: searches.map(({ request }, i) => reorderings[i]?.request ?? request),
    paging: null,
    apply: async ({ body, facts }, stop) =>
      changedResults(bufferOf(body), stop, async (result, i) => {
        const reordering = reorderings[i] ?? null
        if (reordering === null) return result
        const search = searches[i]!
        const answer = await at(search.asked, () => reordering.apply({ body: result, facts }, stop))
        return bufferOf(answer.body)
      }),
  }
}

/** Runs the searches one after another: they share one slot of the search queue. */
function oneByOne(answers: Services['answers']): Services['answers'] {
  let turn: Promise<unknown> = Promise.resolve()
  return {
    ...answers,
    search(...given) {
      const found = turn.then(() => answers.search(...given))
      turn = found.catch(() => undefined)
      return found
    },
  }
}

/** Returns the reordering of a federated search; null if it has none. @throws ApiError */
export async function reorderedFederation(
  services: Services,
  searches: readonly Completed[],
  { order: { personalize, rerank }, paging }: { readonly order: FederationOrder; readonly paging: Paging },
  started: number,
): Promise<ReorderedSearches | null> {
  if (rerank !== null) return rerankedFederation(services, searches, rerank, paging)
  if (personalize === null) return null
  const { engine, rerankers } = services
  const settings = await Promise.all(searches.map(({ entry }) => engine.settings(entry.id)))
  const budgets = settings.map((text) => searchBudgetMs(parsedSettings(text)))
  const isPinning = searches.some(({ request }) => request.pins.length > 0)
  const shows = new Map(
    searches.map(({ asked, request }) => [shownPosition(asked), request.showRankingScoreDetails]),
  )
  return {
    // The details say which hits are pinned.
    requests: searches.map(({ request }) => ({
      ...request,
      showRankingScoreDetails: request.showRankingScoreDetails || isPinning,
    })),
    paging,
    apply: ({ body }, stop) =>
      personalized(rerankers, bufferOf(body), {
        queries: searches.map(({ request }) => request.q),
        ...{ userContext: personalize.userContext, deadline: started + Math.min(...budgets), stop },
        isPinning,
        hidesDetails: (position) => isPinning && position !== null && shows.get(position) === false,
      }),
  }
}

/** Adds the position of a query to its errors. */
async function at<T>({ position }: PositionedQuery, act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    throw error instanceof ApiError ? inside(`.queries[${position}]`, error) : error
  }
}
