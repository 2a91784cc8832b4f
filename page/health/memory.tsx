/** Memory of the process and its caches, from `/metrics`. */
import { ask, askText } from '../api/client.ts'
import { Meter, Problem, Scroll } from '../parts/basics.tsx'
import { bytes, count } from '../parts/text.ts'
import { usePolled } from '../state/loading.ts'
import { byKind, type Sample, samplesOf, valueNamed } from './metrics.ts'

const EVERY_MS = 5000
const CACHES_MAX = 10

/** Asks for the feature first, since a refused request would be in the log of the server every time. */
async function loadMetrics(signal: AbortSignal): Promise<readonly Sample[] | 'off'> {
  const features = await ask<{ readonly metrics: boolean }>('GET', '/experimental-features', { signal })
  return features.metrics ? samplesOf(await askText('GET', '/metrics', { signal })) : 'off'
}

export function MemoryView() {
  const metrics = usePolled(loadMetrics, [], EVERY_MS)
  const isOff = metrics.value === 'off'
  const switchOn = (): void => {
    ask('PATCH', '/experimental-features', { body: { metrics: true } }).then(metrics.reload, metrics.reload)
  }
  return (
    <section class="stack">
      <h2>Memory and caches</h2>
      {isOff && (
        <div class="row">
          <span class="soft">They come from /metrics, a feature that is switched off.</span>
          <button type="button" onClick={switchOn}>
            Switch it on
          </button>
        </div>
      )}
      {metrics.failure !== null && <Problem failure={metrics.failure} />}
      {metrics.value !== null && metrics.value !== 'off' && <Figures samples={metrics.value} />}
    </section>
  )
}

function Figures({ samples }: { readonly samples: readonly Sample[] }) {
  const held = byKind(samples, 'siftd_cache_bytes')
  const hits = byKind(samples, 'siftd_cache_hits_total')
  const misses = byKind(samples, 'siftd_cache_misses_total')
  const limit = valueNamed(samples, 'siftd_cache_max_bytes')
  const total = [...held.values()].reduce((sum, value) => sum + value, 0)
  const caches = [...held].filter(([, value]) => value > 0).sort(([, a], [, b]) => b - a)
  const figures: readonly (readonly [string, number | null, (value: number) => string])[] = [
    ['Resident memory', valueNamed(samples, 'process_resident_memory_bytes'), bytes],
    ['JavaScript heap', valueNamed(samples, 'nodejs_heap_size_used_bytes'), bytes],
    ['Searches running', valueNamed(samples, 'meilisearch_searches_running'), count],
    ['Searches waiting', valueNamed(samples, 'meilisearch_searches_waiting_to_be_processed'), count],
    ['Open files', valueNamed(samples, 'process_open_fds'), count],
  ]
  return (
    <>
      <dl class="figures">
        {figures.map(([name, value, show]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value === null ? '–' : show(value)}</dd>
          </div>
        ))}
      </dl>
      {limit !== null && (
        <div class="row">
          <span class="num">
            Caches hold {bytes(total)} of at most {bytes(limit)}
          </span>
          <span class="grow">
            <Meter value={total / limit} label="Use of the caches' limit" />
          </span>
        </div>
      )}
      {caches.length > 0 && (
        <Scroll label="Caches">
          <table>
            <thead>
              <tr>
                <th scope="col">Cache</th>
                <th scope="col" class="num">
                  Size
                </th>
                <th scope="col" class="num">
                  Hits
                </th>
                <th scope="col" class="num">
                  Misses
                </th>
              </tr>
            </thead>
            <tbody>
              {caches.slice(0, CACHES_MAX).map(([kind, value]) => (
                <tr key={kind}>
                  <th scope="row">{kind.replaceAll('_', ' ')}</th>
                  <td class="num">{bytes(value)}</td>
                  <td class="num">{count(hits.get(kind) ?? 0)}</td>
                  <td class="num">{count(misses.get(kind) ?? 0)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
    </>
  )
}
