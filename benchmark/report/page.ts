/** Renders a report as one HTML page with plots, without scripts and external resources. */
import { megabytes, percentiles } from '../measure.js'
import type { EngineFigures, LibraryFigures, ReferenceTable, Report } from './figures.js'
import { leadingAmount } from './reference.js'
import { type Bar, barChart, cumulative, escaped, FULL_WIDTH, lineChart, type SeriesName } from './svg.js'

const seconds = (ms: number): string => `${(ms / 1000).toFixed(2)} s`
const milliseconds = (ms: number): string => `${ms.toFixed(ms < 10 ? 2 : 0)} ms`
const count = (some: number): string => Math.round(some).toLocaleString('en')

/** Colours have a contrast of 3:1 against the surface, and differ in brightness too. */
const style = `
:root { color-scheme: light dark; --surface: #ffffff; --text: #1b1f24; --quiet: #57606a; --grid: #d8dee4;
  --native: #0b62c4; --fallback: #d9730d; --reference: #6e7781; --minisearch: #0a8066; --orama: #8a3fc7; }
@media (prefers-color-scheme: dark) {
  :root { --surface: #12161c; --text: #e6edf3; --quiet: #9aa5b1; --grid: #2d343d;
    --native: #58a6ff; --fallback: #f0a254; --reference: #9aa5b1; --minisearch: #43c9a7; --orama: #c18bf5; } }
body { background: var(--surface); color: var(--text); font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto;
  max-width: 72rem; padding: 0 1rem; }
h1, h2, h3 { line-height: 1.2; } h2 { margin-top: 2.5rem; } h3 { font-size: 1rem; margin: 0 0 .3rem; }
.quiet, figcaption { color: var(--quiet); }
.charts { display: grid; gap: 1.5rem; grid-template-columns: repeat(auto-fit, minmax(min(26rem, 100%), 1fr)); }
figure { margin: 0; }
svg { display: block; width: 100%; }
svg text { fill: var(--text); font-size: 12px; } svg .tick { fill: var(--quiet); } svg .grid { stroke: var(--grid); }
polyline { fill: none; stroke-width: 2; }
.legend { display: flex; flex-wrap: wrap; gap: 1rem; list-style: none; margin: .5rem 0; padding: 0; }
.legend span { border-radius: 2px; display: inline-block; height: .7em; margin-right: .4em; width: 1.2em; }
${['native', 'fallback', 'reference', 'minisearch', 'orama']
  .map(
    (name) =>
      `rect.${name}, circle.${name} { fill: var(--${name}); } polyline.${name} { stroke: var(--${name}); } ` +
      `.legend .${name} { background: var(--${name}); }`,
  )
  .join('\n')}
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: .5rem 0; }
th, td { border-bottom: 1px solid var(--grid); padding: .2rem .8rem .2rem 0; text-align: left; vertical-align: top; }
.scroll { overflow-x: auto; }
`

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [
    '<div class="scroll"><table>',
    `<thead><tr>${head.map((cell) => `<th scope="col">${escaped(cell)}</th>`).join('')}</tr></thead>`,
    '<tbody>',
    ...rows.map((row) => `<tr>${row.map((cell) => `<td>${escaped(cell)}</td>`).join('')}</tr>`),
    '</tbody></table></div>',
  ].join('\n')

const figure = (title: string, plot: string, caption = ''): string =>
  `<figure><h3>${escaped(title)}</h3>\n${plot}\n${caption === '' ? '' : `<figcaption>${escaped(caption)}</figcaption>`}</figure>`

const charts = (list: readonly string[]): string => `<div class="charts">\n${list.join('\n')}\n</div>`

const legend = (names: readonly SeriesName[], titles: Partial<Record<SeriesName, string>> = {}): string =>
  `<ul class="legend">${names
    .map((name) => `<li><span class="${name}"></span>${escaped(titles[name] ?? name)}</li>`)
    .join('')}</ul>`

const namesOf = (engines: readonly EngineFigures[]): readonly SeriesName[] =>
  engines.map(({ engine }) => engine)

/** Returns a row of bars, one per engine. */
const bars = (
  engines: readonly EngineFigures[],
  value: (figures: EngineFigures) => number,
  text: (value: number) => string,
): readonly Bar[] =>
  engines.map((figures) => ({ series: figures.engine, value: value(figures), text: text(value(figures)) }))

function indexing(engines: readonly EngineFigures[]): string {
  const times = barChart({
    title: 'Indexing time',
    scale: 'shared',
    rows: [
      { label: 'in process', bars: bars(engines, ({ indexMs }) => indexMs, seconds) },
      {
        label: 'POST to searchable, over HTTP',
        bars: bars(engines, ({ toSearchableMs }) => toSearchableMs, seconds),
      },
    ],
  })
  const memory = barChart({
    title: 'Peak resident memory while indexing',
    scale: 'shared',
    rows: [{ label: 'server', bars: bars(engines, (figures) => figures.peakResidentBytes, megabytes) }],
  })
  return `<h2>Indexing</h2>\n${legend(namesOf(engines))}\n${charts([
    figure('Indexing time', times),
    figure('Peak resident memory while indexing', memory),
  ])}`
}

function searching(engines: readonly EngineFigures[]): string {
  const labels = engines[0]?.loads.map(({ label }) => label) ?? []
  const perSecond = barChart({
    title: 'Searches per second over HTTP',
    scale: 'shared',
    rows: labels.map((label, at) => ({
      label,
      bars: bars(
        engines,
        ({ loads }) => loads[at]?.perSecond ?? 0,
        (value) => `${count(value)} /s`,
      ),
    })),
  })
  const workloads = Object.keys(engines[0]?.searches ?? {})
  const times = engines.flatMap(({ loads, searches }) => [
    ...loads.flatMap((load) => load.times),
    ...Object.values(searches).flat(),
  ])
  // All charts share a scale, so that the curves of all workloads are comparable.
  const reaches = [times.reduce((a, b) => Math.min(a, b)), times.reduce((a, b) => Math.max(a, b))]
  const distributions = [
    ...labels.map((label, at) =>
      distribution(`HTTP, ${label}`, engines, ({ loads }) => loads[at]?.times ?? [], reaches),
    ),
    ...workloads.map((name) =>
      distribution(`in process: ${name}`, engines, ({ searches }) => searches[name] ?? [], reaches),
    ),
  ]
  return [
    '<h2>Searches</h2>',
    legend(namesOf(engines)),
    figure(
      'Searches per second over HTTP',
      perSecond,
      'The client runs on the same processors. Each search is sent once.',
    ),
    '<h2>How long searches take</h2>',
    '<p class="quiet">Each curve shows the percentage of searches answered within a number of milliseconds. Further left is faster.</p>',
    legend(namesOf(engines)),
    charts(distributions),
  ].join('\n')
}

function distribution(
  title: string,
  engines: readonly EngineFigures[],
  times: (figures: EngineFigures) => readonly number[],
  reaches: readonly number[],
): string {
  const plot = lineChart({
    title,
    x: { label: 'milliseconds', scale: 'log', reaches },
    y: { label: 'percent of the searches', scale: 'linear' },
    lines: engines.map((figures) => ({ series: figures.engine, points: cumulative(times(figures)) })),
    areMarked: false,
  })
  const caption = engines
    .map((figures) => {
      const { p50, p99, max } = percentiles(times(figures))
      return `${figures.engine}: p50 ${milliseconds(p50)}, p99 ${milliseconds(p99)}, at most ${milliseconds(max)}`
    })
    .join('; ')
  return figure(title, plot, caption)
}

const disk = (engines: readonly EngineFigures[]): string =>
  `<h2>Disk</h2>\n${charts(
    engines.map(({ engine, diskBytes, diskParts }) =>
      figure(
        `${engine}: ${megabytes(diskBytes)}`,
        barChart({
          title: `Disk by part, ${engine}`,
          scale: 'shared',
          rows: diskParts.map(({ name, bytes }) => ({
            label: name,
            bars: [{ series: engine, value: bytes, text: megabytes(bytes) }],
          })),
        }),
      ),
    ),
  )}`

function growing(engines: readonly EngineFigures[]): string {
  const chart = (
    title: string,
    unit: string,
    value: (figures: EngineFigures['growth'][number]) => number,
    text: (figures: EngineFigures['growth'][number]) => string,
  ) =>
    figure(
      title,
      lineChart({
        title: `${title} by documents`,
        x: { label: 'documents', scale: 'linear' },
        y: { label: unit, scale: 'linear' },
        lines: engines.map(({ engine, growth }) => ({
          series: engine,
          points: growth.map((figures) => ({
            x: figures.documents,
            y: value(figures),
            text: `${count(figures.documents)} documents, ${text(figures)}`,
          })),
        })),
        areMarked: true,
      }),
    )
  return [
    '<h2>Growth with documents</h2>',
    legend(namesOf(engines)),
    charts([
      chart(
        'Indexing time',
        'seconds',
        ({ indexMs }) => indexMs / 1000,
        ({ indexMs }) => seconds(indexMs),
      ),
      chart(
        'Disk',
        'megabytes',
        ({ diskBytes }) => diskBytes / 1e6,
        ({ diskBytes }) => megabytes(diskBytes),
      ),
      chart(
        'Median search',
        'milliseconds',
        ({ searchMs }) => searchMs,
        ({ searchMs }) => milliseconds(searchMs),
      ),
    ]),
    table(
      ['engine', 'documents', 'indexing', 'disk', 'median search'],
      engines.flatMap(({ engine, growth }) =>
        growth.map(({ documents, indexMs, diskBytes, searchMs }) => [
          engine,
          count(documents),
          seconds(indexMs),
          megabytes(diskBytes),
          milliseconds(searchMs),
        ]),
      ),
    ),
  ].join('\n')
}

function comparison(libraries: readonly LibraryFigures[]): string {
  if (libraries.length === 0) return ''
  const titles = Object.fromEntries(libraries.map(({ library, title }) => [library, title]))
  const spellings = Object.keys(libraries[0]?.searches ?? {})
  const rows = (
    value: (figures: LibraryFigures, spelling: string) => number,
    text: (value: number) => string,
  ) =>
    spellings.map((spelling) => ({
      label: spelling,
      bars: libraries.map((figures) => {
        const number = value(figures, spelling)
        return { series: figures.library, value: number, text: text(number) }
      }),
    }))
  const rank = (name: 'p50' | 'p99') => (figures: LibraryFigures, spelling: string) =>
    percentiles(figures.searches[spelling]?.times ?? [])[name]
  const asked = Object.values(libraries[0]?.searches ?? {})[0]?.times.length ?? 0
  const chart = (title: string, list: ReturnType<typeof rows>) =>
    figure(title, barChart({ title, scale: 'shared', rows: list }))
  const single = (
    label: string,
    value: (figures: LibraryFigures) => number,
    text: (value: number) => string,
  ) => [
    {
      label,
      bars: libraries.map((figures) => ({
        series: figures.library,
        value: value(figures),
        text: text(value(figures)),
      })),
    },
  ]
  return [
    '<h2>In-process comparison with other libraries</h2>',
    `<p class="quiet">The same films and the same ${asked} titles, once as written and once with each kind of mistake in every word of six letters or more. Each search requests ten hits. All libraries search title, cast, genres and overview. Two swapped letters are one mistake for siftd, two for the others.</p>`,
    legend(
      libraries.map(({ library }) => library),
      titles,
    ),
    charts([
      chart(
        'Time to index',
        single('all films', ({ indexMs }) => indexMs, seconds),
      ),
      chart(
        'Peak resident memory of the process',
        single('films included', ({ peakResidentBytes }) => peakResidentBytes, megabytes),
      ),
      chart('Median search', rows(rank('p50'), milliseconds)),
      chart('p99 of searches', rows(rank('p99'), milliseconds)),
      chart(
        'Films found in the first ten',
        rows(
          (figures, spelling) => figures.searches[spelling]?.found ?? 0,
          (found) => `${found} of ${asked}`,
        ),
      ),
    ]),
    table(
      ['library', 'set up'],
      libraries.map(({ title, setup }) => [title, setup]),
    ),
  ].join('\n')
}

function reference(tables: readonly ReferenceTable[]): string {
  if (tables.length === 0) return ''
  const section = ({ title, origin, figures }: ReferenceTable) => {
    const rows = figures.flatMap(({ label, siftd, reference }) => {
      const [ours, theirs] = [leadingAmount(siftd), leadingAmount(reference)]
      if (ours === null || theirs === null || ours.unit !== theirs.unit) return []
      const bars: readonly Bar[] = [
        { series: 'native', value: ours.value, text: ours.text },
        { series: 'reference', value: theirs.value, text: theirs.text },
      ]
      return [{ label: quoted(label), bars }]
    })
    const plot = barChart({
      title: `Compared with the reference: ${title}`,
      scale: 'per row',
      width: FULL_WIDTH,
      rows,
    })
    const texts = figures.map(({ label, siftd, reference }) => [quoted(label), siftd, reference])
    return `${figure(title, plot, `${origin}. Each row has its own scale. For searches per second more is better, for everything else less.`)}\n${table([title, 'siftd, native', 'reference'], texts)}`
  }
  return [
    '<h2>Comparison with the reference</h2>',
    '<p class="quiet">The reference was not run for this report. Its figures were measured earlier, on another idle machine with two cores (a slow one if the table says so). The figures of siftd are from the named run. Both are in benchmark/RESULTS.md.</p>',
    legend(['native', 'reference'], { native: 'siftd, native' }),
    ...tables.map(section),
  ].join('\n')
}

/** Replaces Markdown backticks by quotation marks. */
const quoted = (text: string): string => text.replaceAll(/`([^`]*)`/g, '“$1”')

/** Renders the page. */
export function reportPage(report: Report): string {
  const { date, commit, machine, corpus, busy, engines, libraries } = report
  const stolen =
    busy.stolenPercent === null ? '' : ` Other systems took ${busy.stolenPercent} % of the processor time.`
  return [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>siftd benchmark, ${escaped(commit)}</title>`,
    `<style>${style}</style>`,
    '</head>',
    '<body>',
    '<h1>siftd benchmark</h1>',
    `<p>Commit ${escaped(commit)}, ${escaped(date.slice(0, 16).replace('T', ' '))} UTC. ${escaped(machine)}.</p>`,
    `<p>${escaped(corpus.name)}: ${count(corpus.documents)} documents, ${megabytes(corpus.bytes)} of NDJSON.</p>`,
    `<p>Load of the machine: ${busy.before.toFixed(1)} before, at most ${busy.most.toFixed(1)} during the measurement, including the measured processes.${stolen} Do not compare figures from a busy machine with others.</p>`,
    indexing(engines),
    searching(engines),
    disk(engines),
    growing(engines),
    comparison(libraries),
    reference(report.reference),
    '</body>',
    '</html>',
    '',
  ].join('\n')
}
