/** Analytics: frequent queries with their clicks, queries without hits, slow ones. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { ask } from '../api/client.ts'
import type { IndexInfo } from '../api/types.ts'
import { Empty, Problem, Scroll } from '../parts/basics.tsx'
import { count, cut, milliseconds, plural, when } from '../parts/text.ts'
import { slowest as slowestOfTab } from '../search/run.ts'
import { useLoaded } from '../state/loading.ts'
import { addressOf } from '../state/route.ts'

interface Counted {
  readonly indexUid: string
  readonly q: string
  readonly count: number
  readonly countWithoutHits: number
  readonly averageMs: number | null
  readonly maxMs: number | null
  readonly lastSearchedAt: string
  readonly clicks: number
  readonly averageClickPosition: number | null
  readonly lastClicked: readonly string[]
}

interface Report {
  readonly since: string
  readonly searches: number
  readonly mostFrequent: readonly Counted[]
  readonly slowest: readonly Counted[]
  readonly withoutHits: readonly Counted[]
}

/** Title and cell of a column. A narrow screen leaves out those of class `minor`. */
type Column = readonly [title: string, read: (row: Counted) => string, kind?: 'minor']

const QUERY_CHARS_MAX = 120
/** Rows of each table at first, and after “More”. */
const [SHOWN, SHOWN_MAX] = [10, 50]

export function AnalyticsSection({ indexes }: { readonly indexes: readonly IndexInfo[] }) {
  const report = useLoaded((signal) => ask<Report>('GET', '/stats/queries', { signal }), [])
  const [index, setIndex] = useState('')
  const isOff = report.failure?.code === 'feature_not_enabled'
  const of = (list: readonly Counted[]): readonly Counted[] =>
    list.filter(({ indexUid }) => index === '' || indexUid === index)
  const { value } = report
  return (
    <div class="stack health">
      <div class="row">
        <h1 class="grow">Analytics</h1>
        {value !== null && (
          <>
            <select
              class="picker"
              aria-label="Index"
              value={index}
              onChange={(event) => setIndex(event.currentTarget.value)}
            >
              <option value="">All indexes</option>
              {indexes.map(({ uid }) => (
                <option key={uid}>{uid}</option>
              ))}
            </select>
            <button type="button" onClick={report.reload}>
              Refresh
            </button>
          </>
        )}
      </div>
      {report.failure !== null && !isOff && <Problem failure={report.failure} />}
      {isOff && <SwitchedOff />}
      {value !== null && !isOff && (
        <>
          <p class="soft num">
            {plural(value.searches, 'search', 'searches')} with words since {when(value.since)}
          </p>
          <Queries
            title="Top queries"
            rows={of(value.mostFrequent)}
            columns={[
              ['Searches', ({ count: all }) => count(all)],
              ['Without hits', ({ countWithoutHits }) => count(countWithoutHits)],
              ['Average', ({ averageMs }) => time(averageMs), 'minor'],
              ...(value.mostFrequent.some(({ clicks }) => clicks > 0) ? clickColumns : []),
            ]}
          />
          <Queries
            title="Queries without hits"
            rows={of(value.withoutHits)}
            columns={[
              ['Without hits', ({ countWithoutHits }) => count(countWithoutHits)],
              ['Searches', ({ count: all }) => count(all)],
              ['Last', ({ lastSearchedAt }) => when(lastSearchedAt), 'minor'],
            ]}
          >
            <p class="small soft">
              Add synonyms for their words, or documents that answer them. “Why not …?” in a search shows why
              a document is not found.
            </p>
          </Queries>
          <Queries
            title="Slowest queries"
            rows={of(value.slowest)}
            columns={[
              ['Slowest', ({ maxMs }) => time(maxMs)],
              ['Average', ({ averageMs }) => time(averageMs)],
              ['Searches', ({ count: all }) => count(all), 'minor'],
            ]}
          />
        </>
      )}
    </div>
  )
}

/** Clicks as a share of the searches, and the mean place of the clicked hits. The first hit has place 1. */
const clickColumns: readonly Column[] = [
  ['Clicks', ({ clicks, count: all }) => `${Math.round((100 * clicks) / all)} %`],
  [
    'Mean place',
    ({ averageClickPosition: mean }) => (mean === null ? '' : (Math.round(10 * mean) / 10 + 1).toFixed(1)),
    'minor',
  ],
]

const time = (ms: number | null): string => (ms === null ? '' : milliseconds(ms))

function Queries(props: {
  readonly title: string
  readonly rows: readonly Counted[]
  readonly columns: readonly Column[]
  readonly children?: ComponentChildren
}) {
  const { title, rows, columns, children } = props
  const [shown, setShown] = useState(SHOWN)
  return (
    <section class="stack">
      <h2>{title}</h2>
      {rows.length === 0 && <p class="soft">None yet.</p>}
      {rows.length > 0 && children}
      {rows.length > 0 && (
        <Scroll label={title}>
          <table class="queries">
            <thead>
              <tr>
                <th scope="col">Query</th>
                <th scope="col">Index</th>
                {columns.map(([name, , kind = '']) => (
                  <th scope="col" class={`num ${kind}`} key={name}>
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.slice(0, shown).map((row) => (
                <tr key={`${row.indexUid}\0${row.q}`}>
                  <th scope="row" class="wrap">
                    <a href={addressOf('search', row.indexUid, { q: row.q })}>
                      {cut(row.q, QUERY_CHARS_MAX)}
                    </a>
                  </th>
                  <td class="wrap">{row.indexUid}</td>
                  {columns.map(([name, read, kind = '']) => (
                    <td class={`num ${kind}`} key={name}>
                      {read(row)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
      {rows.length > shown && (
        <div class="row">
          <button type="button" class="plain small" onClick={() => setShown(SHOWN_MAX)}>
            More<span class="hidden"> of {title}</span>
          </button>
        </div>
      )}
    </section>
  )
}

function SwitchedOff() {
  return (
    <>
      <Empty title="Queries are not counted">
        <p>
          Start the server with <code>--query-stats</code>, or set <code>SVC_QUERY_STATS=true</code>, to see
          frequent queries, queries without hits, and slow ones of the last 30 days. They stay on this server,
          in at most 15 MB. <code>--hash-query-text</code> keeps hashes instead of texts.
        </p>
      </Empty>
      {slowestOfTab.length > 0 && (
        <section class="stack">
          <h2>Slowest searches of this tab</h2>
          <ul>
            {slowestOfTab.slice(0, SHOWN).map(({ index, q, ms }) => (
              <li key={`${index}\0${q}`} class="wrap">
                {q === '' ? <span class="soft">(empty)</span> : cut(q, QUERY_CHARS_MAX)}{' '}
                <span class="soft small num">
                  {index}, {milliseconds(ms)}
                </span>
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  )
}
