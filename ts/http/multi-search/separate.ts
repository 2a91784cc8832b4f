import { ApiError } from '../../errors/index.js'
import { type LocalSearches, type PositionedQuery, readJson } from '../../operations/index.js'
import type { Cells } from '../cells/index.js'
import { REMOTE_ANSWER } from '../remotes/index.js'
import type { SearchRouteServices } from '../route-services.js'
import type { OnDisconnect } from '../searches/index.js'
import { askCellSeparately, positionOf, resultsIn } from './ask-cell.js'

/** Queries with answers of their own, in several cells. */
interface SeparateSearch {
  readonly cells: Cells
  readonly own: readonly PositionedQuery[]
  /** By name of the cell. */
  readonly elsewhere: ReadonlyMap<string, readonly PositionedQuery[]>
  /** See `searchHeaders`. */
  readonly headers: Readonly<Record<string, string>>
  /** Identifies the key of the client. */
  readonly holder: string
  readonly local: LocalSearches
  readonly onDisconnect: OnDisconnect
}

/**
 * Answers queries in this cell and in others at the same time.
 * @throws ApiError that of the first query that fails
 */
export async function searchCells(
  { searches, remoteAnswers, options }: Pick<SearchRouteServices, 'searches' | 'remoteAnswers' | 'options'>,
  { cells, own, elsewhere, headers, holder, local, onDisconnect }: SeparateSearch,
): Promise<string> {
  const controller = new AbortController()
  const stopListening = onDisconnect(() => controller.abort())
  const memory = remoteAnswers.reserve()
  const results = new Map<number, string>()
  const failures: unknown[] = []
  const answered = async (
    queries: readonly PositionedQuery[],
    ask: () => Promise<readonly string[] | null>,
  ): Promise<void> => {
    try {
      const texts = await ask()
      for (const [at, { position }] of queries.entries()) results.set(position, texts?.[at] ?? 'null')
    } catch (error) {
      failures.push(error)
    }
  }
  try {
    const here = async (): Promise<readonly string[] | null> =>
      own.length === 0
        ? []
        : resultsIn(
            readJson(
              await searches.run(holder, onDisconnect, (stop) => local.answer(own, null, stop)),
              REMOTE_ANSWER,
            ),
          )
    await Promise.all([
      answered(own, here),
      ...[...elsewhere].map(([cell, queries]) =>
        answered(queries, () =>
          askCellSeparately({
            ...{ cells, cell, queries, headers, memory, signal: controller.signal },
            ...{ timeoutMs: options.remoteSearchMsMax, shares: elsewhere.size },
          }),
        ),
      ),
    ])
  } finally {
    stopListening()
    controller.abort()
    memory.release()
  }
  const fault = failures.find((failure) => !(failure instanceof ApiError))
  if (fault !== undefined) throw fault
  const errors = failures.filter((failure) => failure instanceof ApiError)
  if (errors.length > 0) throw errors.toSorted((a, b) => positionOf(a) - positionOf(b))[0]!
  const texts = [...results].sort(([a], [b]) => a - b).map(([, text]) => text)
  return `{"results":[${texts.join(',')}]}`
}
