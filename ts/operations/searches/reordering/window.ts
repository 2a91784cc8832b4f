import type { Paging } from '../../../engine/index.js'

/** The hits that a reranked search asks the engine for, and the page among them. */
export interface HitWindow {
  readonly paging: Paging
  /** First hit of the page, and the first one after it. */
  readonly from: number
  readonly to: number
  /** New values of the answer, see `AnswerChange`. @param totalHits of the answer, for paging by page */
  numbers(totalHits: number): Readonly<Record<string, () => number>>
}

/**
 * Returns a window that starts at the first hit and includes the page and the `topK` hits to rank, so that all pages
 * show parts of one order; null: the page has none of the hits to rank.
 */
export function windowOf(paging: Paging, topK: number): HitWindow | null {
  const [from, size] =
    paging.kind === 'offset'
      ? [paging.offset, paging.limit]
      : [(paging.page - 1) * paging.hitsPerPage, paging.hitsPerPage]
  if (from < 0 || from >= topK || size === 0) return null
  const to = from + size
  const wanted = Math.max(topK, to)
  if (paging.kind === 'offset')
    return {
      ...{ paging: { kind: 'offset', offset: 0, limit: wanted }, from, to },
      numbers: () => ({ offset: () => paging.offset, limit: () => paging.limit }),
    }
  return {
    ...{ paging: { kind: 'page', page: 1, hitsPerPage: wanted }, from, to },
    numbers: (totalHits) => ({
      page: () => paging.page,
      hitsPerPage: () => paging.hitsPerPage,
      totalPages: () => Math.ceil(totalHits / paging.hitsPerPage),
    }),
  }
}
