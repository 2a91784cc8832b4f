import test from 'ava'
import sax from 'sax'
import { generator } from '../../benchmark/corpus.js'
import { partOf } from '../../benchmark/disk-parts.js'
import { titleQueries } from '../../benchmark/misspelt.js'
import type { EngineFigures, LibraryFigures, Report } from '../../benchmark/report/figures.js'
import { reportPage } from '../../benchmark/report/page.js'
import { leadingAmount, referenceTables, referenceTablesOf } from '../../benchmark/report/reference.js'
import { linearTicks, plot } from '../../benchmark/report/svg.js'

const native: EngineFigures = {
  engine: 'native',
  indexMs: 2000,
  toSearchableMs: 2500,
  diskBytes: 31_000_000,
  peakResidentBytes: 200_000_000,
  diskParts: [
    { name: 'documents', bytes: 16_000_000 },
    { name: 'words', bytes: 4_000_000 },
  ],
  searches: { title: [1, 1, 1, 10] },
  loads: [{ label: '1 connection', perSecond: 1200, times: [0.5, 1, 2, 4] }],
  growth: [
    { documents: 1000, indexMs: 500, diskBytes: 1_000_000, searchMs: 0.5 },
    { documents: 4000, indexMs: 2000, diskBytes: 4_000_000, searchMs: 1 },
  ],
}
const fallback: EngineFigures = {
  ...native,
  engine: 'fallback',
  indexMs: 6000,
  loads: [{ label: '1 connection', perSecond: 200, times: [5, 10, 20, 100] }],
  growth: [
    { documents: 1000, indexMs: 1500, diskBytes: 900_000, searchMs: 2 },
    { documents: 4000, indexMs: 6000, diskBytes: 3_600_000, searchMs: 8 },
  ],
}
const library = (name: LibraryFigures['library'], title: string, found: number): LibraryFigures => ({
  library: name,
  title,
  setup: `as ${title} says`,
  indexMs: 1000 * found,
  peakResidentBytes: 100e6,
  searches: { 'as written': { times: [1, 2], found: 2 }, 'another letter': { times: [3, 4], found } },
})
const report: Report = {
  date: '2026-01-02T03:04:05.000Z',
  commit: 'abc1234',
  machine: '2 cores (a processor & more)',
  corpus: { name: 'films-4k', documents: 4000, bytes: 2_500_000 },
  busy: { before: 0.3, most: 5.5, stolenPercent: 7 },
  engines: [native, fallback],
  libraries: [library('native', 'siftd, native', 2), library('orama', 'Orama 0', 1)],
  reference: [
    {
      title: 'films',
      origin: 'siftd at commit f00, elsewhere',
      figures: [
        { label: 'disk', siftd: '31.1 MB', reference: '152 MB' },
        { label: '`love`', siftd: 'p50 500 ms, p99 900 ms', reference: '2 s' },
        { label: 'no number', siftd: 'many', reference: '2 ms' },
      ],
    },
  ],
}

interface Element {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
  /** Its text, and that of a title inside it. */
  text: string
}

/** Returns the elements of the chart with this title. @throws if it is not well-formed XML */
function chart(page: string, title: string): readonly Element[] {
  const svg = page.match(/<svg.*?<\/svg>/gs)?.find((some) => some.includes(`aria-label="${title}"`))
  if (svg === undefined) throw new Error(`no chart ${title}`)
  const elements: Element[] = []
  const open: Element[] = []
  const parser = sax.parser(true, {})
  parser.onerror = (error) => {
    throw error
  }
  parser.onopentag = ({ name, attributes }) => {
    const element = { name, attributes: attributes as Record<string, string>, text: '' }
    elements.push(element)
    open.push(element)
  }
  parser.ontext = (text) => {
    for (const element of open.slice(-2)) element.text += text.trim()
  }
  parser.onclosetag = () => void open.pop()
  parser.write(svg).close()
  return elements
}

const page = reportPage(report)
const bars = (title: string) => chart(page, title).filter(({ name }) => name === 'rect')
const width = (element: Element | undefined) => Number(element?.attributes.width)

test('bars are proportional to their figures, and show them', (t) => {
  const [inProcess, slow] = bars('Indexing time')
  t.is(inProcess?.text, 'in process, native: 2.00 s')
  t.is(slow?.text, 'in process, fallback: 6.00 s')
  t.is(slow?.attributes.class, 'fallback')
  t.true(Math.abs(width(slow) / width(inProcess) - 3) < 0.001)
  const [many, few] = bars('Searches per second over HTTP')
  t.true(Math.abs(width(many) / width(few) - 6) < 0.001)
  t.is(many?.text, '1 connection, native: 1,200 /s')
})

test('disk is shown by part for each engine', (t) => {
  const [documents, words, ...more] = bars('Disk by part, native')
  t.deepEqual(
    [documents?.text, words?.text, more],
    ['documents, native: 16.0 MB', 'words, native: 4.0 MB', []],
  )
  t.true(Math.abs(width(documents) / width(words) - 4) < 0.001)
})

/** Returns the points of an engine's line, from 0 to 1 on both axes. */
const line = (title: string, engine: string): readonly (readonly [number, number])[] => {
  const found = chart(page, title).find(
    ({ name, attributes }) => name === 'polyline' && attributes.class === engine,
  )
  return (found?.attributes.points ?? '').split(' ').map((point) => {
    const [x = Number.NaN, y = Number.NaN] = point.split(',').map(Number)
    return [(x - plot.left) / (plot.right - plot.left), (plot.bottom - y) / (plot.bottom - plot.top)]
  })
}

test('lines pass through the figures of each size', (t) => {
  // The axes end at 4,000 documents and at 6 seconds.
  t.deepEqual(linearTicks(4000), [0, 1000, 2000, 3000, 4000])
  t.deepEqual(linearTicks(6), [0, 2, 4, 6])
  const expected = { native: [0.5, 2], fallback: [1.5, 6] }
  for (const [engine, seconds] of Object.entries(expected)) {
    const points = line('Indexing time by documents', engine)
    t.is(points.length, 2)
    for (const [at, [x, y]] of points.entries()) {
      t.true(Math.abs(x - [0.25, 1][at]!) < 0.001, `${engine} ${x}`)
      t.true(Math.abs(y - seconds[at]! / 6) < 0.001, `${engine} ${y}`)
    }
  }
  const marks = chart(page, 'Indexing time by documents').filter(({ name }) => name === 'circle')
  t.is(marks.at(-1)?.text, 'fallback: 4,000 documents, 6.00 s')
})

test('a latency curve shows the share of answered searches on a logarithmic scale', (t) => {
  // All times are between 0.5 and 100 ms, so the axis goes from 0.1 to 100: three decades.
  const points = line('HTTP, 1 connection', 'native')
  const decades = [0.5, 1, 2, 4].map((ms) => (Math.log10(ms) + 1) / 3)
  for (const [at, [x, y]] of points.entries()) {
    t.true(Math.abs(x - decades[at]!) < 0.001)
    t.true(Math.abs(y - (at + 1) / 4) < 0.001)
  }
  t.is(points.length, 4)
  t.true(page.includes('native: p50 1.00 ms, p99 10 ms, at most 10 ms'))
})

test('libraries are shown next to siftd with their set-up, and omitted if none was measured', (t) => {
  const found = bars('Films found in the first ten')
  t.deepEqual(
    found.map(({ text }) => text),
    [
      'as written, native: 2 of 2',
      'as written, orama: 2 of 2',
      'another letter, native: 2 of 2',
      'another letter, orama: 1 of 2',
    ],
  )
  t.true(page.includes('as Orama 0 says'))
  t.false(reportPage({ ...report, libraries: [] }).includes('In process, beside'))
})

test('figures of the reference are marked as measured earlier, and bars compare the same unit', (t) => {
  t.regex(page, /The reference was not run for this report\. Its figures were measured earlier/)
  const rows = bars('Compared with the reference: films')
  t.deepEqual(
    rows.map(({ text }) => text),
    [
      'disk, native: 31.1 MB',
      'disk, reference: 152 MB',
      '“love”, native: p50 500 ms',
      '“love”, reference: 2 s',
    ],
  )
  t.true(Math.abs(width(rows[3]) / width(rows[2]) - 4) < 0.001)
  // Figures that cannot be drawn are still in the table.
  t.true(page.includes('<td>no number</td><td>many</td><td>2 ms</td>'))
})

test('the page names the corpus and the machine, and how busy the machine was', (t) => {
  t.true(page.includes('Commit abc1234, 2026-01-02 03:04 UTC. 2 cores (a processor &#38; more).'))
  t.true(page.includes('Load of the machine: 0.3 before, at most 5.5 during the measurement'))
  t.true(page.includes('Other systems took 7 % of the processor time'))
  const told = { ...report, busy: { before: 0, most: 1, stolenPercent: null } }
  t.false(reportPage(told).includes('Other systems'))
})

test('the page loads nothing from servers, runs no scripts, and supports dark mode', (t) => {
  t.notRegex(page, /<script|<link|<iframe|<img|\bsrc=|\bhref=|https?:|url\(|@import|\bon\w+=/i)
  t.regex(page, /prefers-color-scheme: dark/)
  const titles = [...page.matchAll(/aria-label="([^"]*)"/g)].map(([, title = '']) => title)
  t.is(new Set(titles).size, titles.length, 'titles are unique')
  for (const title of titles) t.notThrows(() => chart(page, title))
})

test('a result is parsed to a comparable amount or to none', (t) => {
  t.deepEqual(leadingAmount('1,129–1,804 MB'), { value: 1129, unit: 'MB', text: '1,129–1,804 MB' })
  t.deepEqual(leadingAmount('1349 /s, p50 0, p99 2 ms'), { value: 1349, unit: '/s', text: '1349 /s' })
  t.deepEqual(leadingAmount('p50 0.6 ms, p99 3.5 ms'), { value: 0.6, unit: 'ms', text: 'p50 0.6 ms' })
  t.deepEqual(leadingAmount('4.7 s'), { value: 4700, unit: 'ms', text: '4.7 s' })
  t.is(leadingAmount('no strace'), null)
})

test('the newest run with figures of the reference is shown', async (t) => {
  const run = (date: string, siftd: string) => ({
    date,
    machine: 'a machine',
    figures: [
      { table: 'films', label: 'disk', measured: { siftd }, beside: { reference: '152 MB', aim: '26 MB' } },
      { table: 'films', label: 'syncs', measured: { siftd }, beside: { reference: '', aim: '' } },
    ],
  })
  const files = [
    { benchmark: 'aims', commit: 'new', runs: [run('2026-02-01', '30 MB')] },
    { benchmark: 'aims', commit: 'old', runs: [run('2026-01-01', '40 MB')] },
  ]
  t.deepEqual(referenceTablesOf(files), [
    {
      title: 'films',
      origin: 'siftd at commit new, 2026-02-01, a machine',
      figures: [{ label: 'disk', siftd: '30 MB', reference: '152 MB' }],
    },
  ])
  const kept = await referenceTables('benchmark/runs')
  t.true(kept.some(({ title, figures }) => title === 'films' && figures.length > 5))
})

test('files of both engines belong to a part', (t) => {
  const index = 'indexes/36e8db06-1fc9-4c09-9e88-17b53cd4800a'
  t.is(partOf('tasks/tasks.db'), 'tasks')
  t.is(partOf(`${index}/segment-0f.store`), 'documents')
  t.is(partOf(`${index}/segment-0f.pos`), 'positions of words')
  t.is(partOf(`${index}/commit-00000000000000000001`), 'commits, small parts')
  t.is(partOf(`${index}/commits.log`), 'documents')
  t.is(partOf('VERSION'), 'everything else')
})

test('titles get one mistake in each long word, and the same titles get each kind of mistake', (t) => {
  const random = generator(1)
  const word = () => Array.from({ length: 8 }, () => 'abcdefgh'[Math.floor(random() * 8)]).join('')
  const films = Array.from({ length: 50 }, (_, id) => ({ id, title: `The ${word()}` }))
  const queries = titleQueries(
    [...films, { id: 99, title: films[0]!.title }, { id: 100, title: 'Short' }],
    20,
  )
  t.deepEqual(queries, titleQueries([...films, { id: 99, title: films[0]!.title }], 20))
  const spellings = [...new Set(queries.map(({ spelling }) => spelling))]
  t.deepEqual(spellings, ['as written', 'a letter left out', 'another letter', 'two letters swapped'])
  const chosen = queries.slice(0, 20).map(({ id }) => id)
  // Two films share a title, so neither can be the only correct hit.
  t.false(chosen.includes(0) || chosen.includes(99) || chosen.includes(100))
  for (const { spelling, q, id } of queries) {
    const { title } = films[id]!
    const differing = [...title].filter((letter, at) => letter !== q[at]).length
    if (spelling === 'as written') t.is(q, title)
    if (spelling === 'a letter left out') t.is(q.length, title.length - 1)
    if (spelling === 'another letter') t.is(differing, 1)
    if (spelling === 'two letters swapped') t.is(differing, 2)
    t.is(q.slice(0, 5), title.slice(0, 5), 'the first letter stays')
  }
})
