/** Slow queries, from the server's statistics or else from this tab. */
import { ask } from '../api/client.ts'
import { Problem, Scroll } from '../parts/basics.tsx'
import { count, cut, milliseconds, when } from '../parts/text.ts'
import { slowest } from '../search/run.ts'
import { useLoaded } from '../state/loading.ts'

interface Counted {
  readonly indexUid: string
  readonly q: string
  readonly count: number
  readonly averageMs: number | null
  readonly maxMs: number | null
}

interface Report {
  readonly since: string
  readonly searches: number
  readonly slowest: readonly Counted[]
}

const QUERY_CHARS_MAX = 120
const SHOWN = 10

export function Queries() {
  const report = useLoaded((signal) => ask<Report>('GET', '/stats/queries', { signal }), [])
  const isOff = report.failure?.code === 'feature_not_enabled'
  const own = slowest.map(({ index, q, ms }) => ({ indexUid: index, q, count: null, maxMs: ms }))
  const rows = isOff ? own : (report.value?.slowest ?? [])
  return (
    <section class="stack">
      <h2>{isOff ? 'Slowest searches of this tab' : 'Slowest searches'}</h2>
      {isOff && <p class="soft small">To see those of all clients, start the server with --query-stats.</p>}
      {report.failure !== null && !isOff && <Problem failure={report.failure} />}
      {report.value !== null && (
        <p class="soft small num">
          Of {count(report.value.searches)} searches since {when(report.value.since)}
        </p>
      )}
      {rows.length > 0 && (
        <Scroll label="Slowest searches">
          <table>
            <thead>
              <tr>
                <th scope="col">Query</th>
                <th scope="col">Index</th>
                <th scope="col" class="num">
                  Slowest
                </th>
                {!isOff && (
                  <th scope="col" class="num">
                    Count
                  </th>
                )}
              </tr>
            </thead>
            <tbody>
              {rows.slice(0, SHOWN).map((row) => (
                <tr key={`${row.indexUid}\0${row.q}`}>
                  <th scope="row" class="wrap">
                    {row.q === '' ? <span class="soft">(empty)</span> : cut(row.q, QUERY_CHARS_MAX)}
                  </th>
                  <td>{row.indexUid}</td>
                  <td class="num">{row.maxMs === null ? '' : milliseconds(row.maxMs)}</td>
                  {!isOff && <td class="num">{row.count === null ? '' : count(row.count)}</td>}
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
      {rows.length === 0 && <p class="soft">None yet.</p>}
    </section>
  )
}
