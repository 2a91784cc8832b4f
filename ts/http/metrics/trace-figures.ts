import type { Measured, Report } from './report.js'

/** Reports the spans for the collector of traces. */
export function reportTraces({ tracer = null }: Measured, report: Report): void {
  const { exported, dropped } = tracer?.figures ?? { exported: 0, dropped: 0 }
  const counter = report.counters('siftd_trace_spans_total', 'spans of traces, by what became of them', [
    'outcome',
  ])
  counter.inc({ outcome: 'exported' }, exported)
  counter.inc({ outcome: 'dropped' }, dropped)
}
