import { readMilliseconds } from '../../parse/index.js'
import type { BatchView } from '../../tasks/index.js'
import { REPORTED_BATCHES_MAX } from '../limits.js'
import type { Measured, Report } from './report.js'

/** Milliseconds that a batch of documents is reported after its end, plus its own duration. Source: operations §12. */
const SHOWN_MS = 300_000

/** Reports the progress of running batches, and the steps and documents of the last finished ones. */
export async function reportBatches({ tasks }: Measured, report: Report): Promise<void> {
  const page = { limit: REPORTED_BATCHES_MAX, from: null, reverse: false }
  const { results: batches } = await tasks.batches({}, page)
  const stepLabels = ['batch_uid', 'step_name']
  const running = report.gauges(
    'meilisearch_batch_running_progress_trace',
    'steps of running batches, as shares from 0 to 1',
    stepLabels,
  )
  const ended = report.gauges(
    'meilisearch_last_finished_batches_progress_trace_ms',
    'time of each step of the last batches',
    stepLabels,
  )
  const indexLabels = ['batch_uid', 'index']
  const count = report.gauges(
    'meilisearch_last_indexed_documents_count',
    'documents indexed by a batch of the last minutes',
    indexLabels,
  )
  const duration = report.gauges(
    'meilisearch_last_indexed_documents_duration_ms',
    'duration of a batch of the last minutes that indexed documents',
    indexLabels,
  )
  for (const batch of batches) {
    const batch_uid = String(batch.uid)
    for (const { currentStep, finished, total } of stepsOf(batch))
      running.set({ batch_uid, step_name: currentStep }, total === 0 ? 0 : finished / total)
    for (const [step_name, ms] of traceOf(batch)) ended.set({ batch_uid, step_name }, ms)
    const indexed = indexedBy(batch)
    if (indexed === null || tasks.index(indexed.index) === null) continue
    count.set({ batch_uid, index: indexed.index }, indexed.documents)
    duration.set({ batch_uid, index: indexed.index }, indexed.ms)
  }
}

interface ShownStep {
  readonly currentStep: string
  readonly finished: number
  readonly total: number
}

function stepsOf({ progress }: BatchView): readonly ShownStep[] {
  return (progress as { readonly steps?: readonly ShownStep[] } | null)?.steps ?? []
}

/** Returns names of steps with the milliseconds that each took. */
function traceOf({ finishedAt, stats }: BatchView): readonly (readonly [string, number])[] {
  if (finishedAt === null) return []
  const trace = (stats as { readonly progressTrace?: Readonly<Record<string, unknown>> }).progressTrace ?? {}
  return Object.entries(trace).flatMap(([step, text]) => {
    const ms = readMilliseconds(String(text))
    return ms === undefined ? [] : [[step, ms] as const]
  })
}

/** Returns the index, documents and duration of a batch that finished a short time ago, else null. */
function indexedBy({
  details,
  stats,
  startedAt,
  finishedAt,
}: BatchView): { readonly index: string; readonly documents: number; readonly ms: number } | null {
  const { indexedDocuments } = details
  const [index] = Object.keys((stats as { readonly indexUids?: object }).indexUids ?? {})
  if (finishedAt === null || index === undefined || typeof indexedDocuments !== 'number') return null
  const ms = Date.parse(finishedAt) - Date.parse(startedAt)
  return Date.now() - Date.parse(finishedAt) > ms + SHOWN_MS
    ? null
    : { index, documents: indexedDocuments, ms }
}
