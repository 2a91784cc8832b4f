/** Batches: their tasks, why they ended, and the duration of each step. */
import { ask } from '../api/client.ts'
import type { Batch, UidPage } from '../api/types.ts'
import { Empty, Parts, Problem } from '../parts/basics.tsx'
import { milliseconds, millisecondsOf, millisecondsOfIso, plural, when, words } from '../parts/text.ts'
import { usePolled } from '../state/loading.ts'

const EVERY_MS = 2000
const SHOWN = 30

export function Batches() {
  const batches = usePolled(
    (signal) => ask<UidPage<Batch>>('GET', `/batches?limit=${SHOWN}`, { signal }),
    [],
    EVERY_MS,
  )
  if (batches.failure !== null) return <Problem failure={batches.failure} />
  if (batches.value !== null && batches.value.results.length === 0) return <Empty title="No batch yet" />
  return (
    <ol class="stack">
      {batches.value?.results.map((batch) => (
        <li key={batch.uid} class="facet">
          <BatchView batch={batch} />
        </li>
      ))}
    </ol>
  )
}

function BatchView({ batch }: { readonly batch: Batch }) {
  const { uid, stats, progress, duration, startedAt, batchStrategy } = batch
  const types = Object.entries(stats.types).map(([type, number]) => `${number} × ${words(type)}`)
  const trace = Object.entries(stats.progressTrace ?? {}).filter(([name]) => name.split(' > ').length === 2)
  const parts = trace.map(([name, text]) => {
    const value = millisecondsOf(text)
    return { name: name.split(' > ')[1] ?? name, value, text: milliseconds(value) }
  })
  return (
    <div class="stack">
      <div class="row">
        <h2 class="num">Batch {uid}</h2>
        <span class="grow wrap">
          {plural(stats.totalNbTasks, 'task')}: {types.join(', ')}
          <span class="soft"> in {Object.keys(stats.indexUids).join(', ') || 'no index'}</span>
        </span>
        <span class="soft num">
          {duration === null ? 'running' : milliseconds(millisecondsOfIso(duration))} · {when(startedAt)}
        </span>
      </div>
      {progress !== null && (
        <progress max={100} value={progress.percentage} aria-label={`Progress of batch ${uid}`} />
      )}
      {parts.length > 0 && <Parts label={`Steps of batch ${uid}`} parts={parts} />}
      {batchStrategy !== undefined && <p class="soft small wrap">It {batchStrategy}.</p>}
    </div>
  )
}
