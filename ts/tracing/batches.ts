import type { Span } from './span.js'
import type { Tracer } from './tracer.js'

/** A batch of tasks while it runs. */
export interface TracedBatch {
  readonly batchUid: number
  /** null: its tasks concern no single index. */
  readonly indexUid: string | null
  readonly taskUids: ReadonlySet<number>
  /** The steps so far: names, and when each began in microseconds since 1970. */
  readonly entered: readonly { readonly name: string; readonly at: number }[]
}

/** Runs a batch as a trace, with a span per step. */
export function tracedBatch<T>(tracer: Tracer, batch: TracedBatch, run: () => Promise<T>): Promise<T> {
  const attributes = {
    'siftd.batch': batch.batchUid,
    'siftd.tasks': batch.taskUids.size,
    ...(batch.indexUid !== null && { 'siftd.index': batch.indexUid }),
  }
  return tracer.runFirst({ name: 'batch', attributes }, async (span) => {
    try {
      return await run()
    } finally {
      if (span !== null) addSteps(tracer, span, batch)
    }
  })
}

function addSteps(tracer: Tracer, span: Span, { entered }: TracedBatch): void {
  const times = entered.map(({ at }) => at / 1000 - performance.timeOrigin)
  for (const [i, { name }] of entered.entries())
    tracer.addEnded(span, { name: `step ${name}`, startedAt: times[i]! }, times[i + 1] ?? performance.now())
}
