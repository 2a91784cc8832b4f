import type { Measured, Report } from './report.js'

/** Reports searches whose hits a model reorders. */
export function reportReranking({ rerankers }: Measured, report: Report): void {
  const { personalized, reranked } = rerankers.figures
  report.gauge(
    'meilisearch_personalized_search_requests',
    'personalized searches since the start',
    personalized,
  )
  const counter = report.counters(
    'siftd_rerank_requests_total',
    'searches with `rerank` that called a reranker; those that it did not order kept their own order',
    ['outcome'],
  )
  for (const [outcome, count] of Object.entries(reranked)) counter.inc({ outcome }, count)
}
