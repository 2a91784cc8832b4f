/**
 * npm run bench:aims -- [--shared DIRECTORY] [--seconds N] [--only films|million] [--save]
 *
 * Measures each figure on this machine and prints it next to the reference and the aim: over HTTP, against a daemon in
 * a separate process, without cached answers, with the load generator on the same processors. The reference's figures
 * were measured on an idle machine of this kind. First compares the answers to recorded queries with the recording.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { client, pace, startDaemon, timesOf, untilFinished } from './daemon.js'
import { bytesOnDisk, megabytes, percentiles, untilIdle, watchMemory, watchStolen } from './measure.js'
import { million } from './million.js'
import { type Figure, saveRun } from './results.js'

const help = `npm run bench:aims -- [options]

  --shared DIRECTORY   where data/ is            (default ../shared)
  --seconds N          length of each load       (default 8)
  --only films|million only one of the two tables
  --save               adds the figures to benchmark/runs and RESULTS.md

Examples
  npm run bench:aims
  npm run bench:aims -- --only films --seconds 20`

const { values } = parseArgs({
  options: {
    shared: { type: 'string', default: '../shared' },
    seconds: { type: 'string', default: '8' },
    only: { type: 'string' },
    save: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  console.log(help)
  process.exit(0)
}

type Body = Readonly<Record<string, unknown>>

/** Repetitions of each search in the million documents. */
const ROUNDS = 1_001
/** Searches before the measurement. Once V8 has compiled its code the server answers twice as many per second. */
const WARM_UP_ROUNDS = 8_000
/** Duration of each load before the measurement, for the same reason. */
const WARM_UP_SECONDS = 8
/** Documents of the million to update, in sequence. */
const UPDATES = 100

const shared = (name: string) => join(values.shared, 'data', name)
const films = gunzipSync(await readFile(shared('movies.ndjson.gz')))

const stolen = watchStolen()
const figures: Figure[] = []
let table = ''
const head = (what: string) => {
  table = what
  console.log(`| ${what} | measured | reference | aim | stolen |\n|---|---|---|---|---|`)
  stolen()
}
/** Figure of the reference on an idle machine, and the aim. */
type Aim = readonly [reference: string, aim: string]
/** Prints a figure, and the share of processor time stolen by other systems since the previous figure. */
const row = (label: string, measured: string, [reference, aim]: Aim) => {
  const share = stolen()
  const shown = Number.isNaN(share) ? '' : `${share} %`
  console.log(`| ${label} | ${measured} | ${reference} | ${aim} | ${shown} |`)
  figures.push({ table, label, measured: { siftd: measured }, beside: { reference, aim } })
}
const seconds = (ms: number) => `${(ms / 1000).toFixed(2)} s`
const milliseconds = (ms: number) => `${ms.toFixed(ms < 10 ? 1 : 0)} ms`

/** Runs `work` with a daemon on an empty directory, then removes both. */
async function withDaemon(work: (daemon: Daemon) => Promise<void>): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'siftd-aims-'))
  const { port, child, pid } = await startDaemon('native', join(directory, 'data'), [
    '--answer-cache-size',
    '0',
  ])
  try {
    await work(new Daemon(port, pid, join(directory, 'data')))
  } finally {
    child.kill('SIGKILL')
    await rm(directory, { recursive: true, force: true, maxRetries: 5 })
  }
}

class Daemon {
  private readonly call: ReturnType<typeof client>

  constructor(
    private readonly port: number,
    private readonly pid: number,
    private readonly data: string,
  ) {
    this.call = client(port, 1)
  }

  /** Sends a write and waits for its task. @returns milliseconds until the task was seen as finished */
  async task(method: string, path: string, body: Buffer | string, type?: string): Promise<number> {
    const began = performance.now()
    await untilFinished(this.call, await this.call(method, path, body, type))
    return performance.now() - began
  }

  /**
   * Sends fifty additions of one document, each when the previous one is accepted or has ended.
   * @returns milliseconds until the last task has ended
   */
  async tasksOf(index: string, before: 'sent' | 'ended'): Promise<number> {
    const began = performance.now()
    let last = { status: 0, text: '' }
    for (let id = 1; id <= 50; id++) {
      const body = JSON.stringify([{ id, title: `small, ${before} ${id}` }])
      last = await this.call('POST', `/indexes/${index}/documents`, body)
      if (before === 'ended') await untilFinished(this.call, last)
    }
    await untilFinished(this.call, last)
    const elapsed = performance.now() - began
    const { text } = await this.call('GET', `/tasks?from=${JSON.parse(last.text).taskUid}&limit=50`)
    const { results } = JSON.parse(text) as { results: { status: string }[] }
    if (results.length !== 50 || results.some(({ status }) => status !== 'succeeded')) throw new Error(text)
    return elapsed
  }

  async search(index: string, body: Body): Promise<{ hits: { id: unknown }[]; estimatedTotalHits: number }> {
    const { status, text } = await this.call('POST', `/indexes/${index}/search`, JSON.stringify(body))
    if (status !== 200) throw new Error(text)
    return JSON.parse(text)
  }

  /** Sends files in sequence. Prints the time until the last document was found, and the disk and memory used. */
  async load(index: string, files: readonly (Buffer | string)[], aims: readonly [Aim, Aim, Aim]) {
    await this.task('POST', '/indexes', JSON.stringify({ uid: index, primaryKey: 'id' }))
    const watched = watchMemory(this.pid)
    const began = performance.now()
    let last = { status: 0, text: '' }
    for (const file of files)
      last = await this.call('POST', `/indexes/${index}/documents`, file, 'application/x-ndjson')
    await untilFinished(this.call, last)
    const { hits } = await this.search(index, { limit: 1 })
    if (hits.length !== 1) throw new Error('no document was found after loading')
    row('to searchable', seconds(performance.now() - began), aims[0])
    row('disk', megabytes(await bytesOnDisk(this.data)), aims[1])
    row('peak resident memory', megabytes((await watched()).resident), aims[2])
    // Merging continues for a while.
    await untilIdle(this.pid)
  }

  /** Repeats the searches `bodies` over `connections` connections. */
  async loadOf(index: string, bodies: readonly Body[], connections: number): Promise<string> {
    const load = { port: this.port, index, bodies: bodies.map((body) => JSON.stringify(body)), connections }
    await pace({ ...load, seconds: WARM_UP_SECONDS })
    const { perSecond, p50, p99 } = await pace({ ...load, seconds: Number(values.seconds) })
    return `${Math.round(perSecond)} /s, p50 ${p50}, p99 ${p99} ms`
  }

  /** Warms up client and server with searches for a word that no document contains. */
  async warmUp(index: string): Promise<void> {
    await timesOf(this.port, index, JSON.stringify({ q: 'qqqqqqqq' }), WARM_UP_ROUNDS)
  }

  /** Times repetitions of a search, in milliseconds. The first is reported separately. */
  async times(index: string, body: Body) {
    const times = await timesOf(this.port, index, JSON.stringify(body), ROUNDS)
    return { first: times[0]!, ...percentiles(times.slice(1)) }
  }
}

interface Recorded {
  readonly index: string
  readonly request: Body & { readonly q?: string }
  readonly expect: { readonly hits: readonly { readonly id: unknown }[] }
}

async function films36k(): Promise<void> {
  const golden = JSON.parse(gunzipSync(await readFile(shared('golden-films.json.gz'))).toString()) as {
    queries: Recorded[]
  }
  const recorded = golden.queries.filter(
    ({ index, request }) => index === 'films' && request.q !== undefined && request.q.trim() !== '',
  )
  const texts = [...new Set(recorded.map(({ request }) => request.q!))]
  const plain = texts.map((q) => ({ q, limit: 20 }))
  const rich = plain.map((body) => ({
    ...body,
    filter: 'year > 1980',
    facets: ['genres', 'year'],
    attributesToHighlight: ['*'],
    attributesToCrop: ['overview'],
  }))
  head('films')
  await withDaemon(async (daemon) => {
    await daemon.load(
      'films',
      [films],
      [
        ['11.5 s', '1.15 s'],
        ['152 MB', '26 MB'],
        ['1,666 MB', '220 MB'],
      ],
    )
    const settings = { filterableAttributes: ['genres', 'year'], sortableAttributes: ['year', 'title'] }
    const changed = await daemon.task('PATCH', '/indexes/films/settings', JSON.stringify(settings))
    row('two fields made filterable and sortable', seconds(changed), ['0.78 s', '0.05 s'])
    let alike = 0
    const comparable = recorded.filter(({ request }) => request.filter === undefined)
    for (const { request, expect } of comparable) {
      const { hits } = await daemon.search('films', request)
      const ids = (list: readonly { id: unknown }[]) => JSON.stringify(list.slice(0, 10).map(({ id }) => id))
      alike += ids(hits) === ids(expect.hits) ? 1 : 0
    }
    row('plain, 1 connection', await daemon.loadOf('films', plain, 1), [
      '725 /s, p99 3 ms',
      '2,900 /s, p99 0.75 ms',
    ])
    row('plain, 8 connections', await daemon.loadOf('films', plain, 8), [
      '1,375 /s, p99 17 ms',
      '8,250 /s, p99 3.4 ms',
    ])
    row('filter, facets, highlight, crop, 8 connections', await daemon.loadOf('films', rich, 8), [
      '639 /s, p99 31 ms',
      '5,112 /s, p99 5.2 ms',
    ])
    const sent = seconds(await daemon.tasksOf('films', 'sent'))
    row('50 one-document tasks, sent one after another', sent, ['', ''])
    const waited = seconds(await daemon.tasksOf('films', 'ended'))
    row('50 one-document tasks, each waited for', waited, ['0.78 s', '0.13 s'])
    console.log(
      `\nfirst ten as recorded: ${alike} of ${comparable.length}; ${plain.length} texts were searched\n`,
    )
  })
}

/** Searches in the million documents, and the aims for their median. */
const searches: readonly { name: string; body: Body; aim: Aim }[] = [
  { name: '`love`', body: { q: 'love' }, aim: ['2 ms', '0.4 ms'] },
  { name: '`the`', body: { q: 'the' }, aim: ['4 ms', '0.4 ms'] },
  { name: '`s`', body: { q: 's' }, aim: ['1 ms', '0.4 ms'] },
  { name: '`lo`', body: { q: 'lo' }, aim: ['3 ms', '0.4 ms'] },
  { name: 'two words: `new york`', body: { q: 'new york' }, aim: ['3.6 ms (slow machine)', '0.5 ms'] },
  { name: 'typos: `yong woman`', body: { q: 'yong woman' }, aim: ['', '0.5 ms'] },
  {
    name: 'three words: `young woman falls`',
    body: { q: 'young woman falls' },
    aim: ['4.0 ms (slow machine)', '0.5 ms'],
  },
  { name: 'no query, two facets', body: { q: '', facets: ['genre', 'year'] }, aim: ['22 ms', '0.5 ms'] },
  {
    name: '500 km around Paris, by distance',
    body: { filter: '_geoRadius(48.85, 2.35, 500000)', sort: ['_geoPoint(48.85, 2.35):asc'] },
    aim: ['96 ms', '0.6 ms'],
  },
  {
    name: '`love`, distinct of 20,000 authors',
    body: { q: 'love', distinct: 'author' },
    aim: ['20 ms', '1.5 ms'],
  },
  { name: '`the` by year', body: { q: 'the', sort: ['year:asc'] }, aim: ['2 ms', '0.7 ms'] },
]

async function aMillion(): Promise<void> {
  const files = await million(join(values.shared, 'data'))
  head('a million documents')
  await withDaemon(async (daemon) => {
    await daemon.load('m', files, [
      ['68 s', '13.6 s'],
      ['1,129–1,804 MB', '200 MB'],
      ['2,500 MB', '330 MB'],
    ])
    const filterable = ['genre', 'year', 'author']
    const set = (attributes: readonly string[]) =>
      daemon.task(
        'PATCH',
        '/indexes/m/settings',
        JSON.stringify({ filterableAttributes: attributes, sortableAttributes: ['year', '_geo'] }),
      )
    await set(filterable)
    row('one more filterable field', seconds(await set([...filterable, '_geo'])), ['20 s', '0.03 s'])
    await daemon.warmUp('m')
    for (const { name, body, aim } of searches) {
      const { first, p50, p99 } = await daemon.times('m', body)
      row(name, `p50 ${milliseconds(p50)}, p99 ${milliseconds(p99)}, first ${milliseconds(first)}`, aim)
    }
    const documents = files.at(-1)!.split('\n')
    const updates: number[] = []
    for (let at = 0; at < UPDATES; at++) {
      const document = JSON.parse(documents[(at * 7919) % documents.length]!) as {
        id: unknown
        title: string
      }
      const body = JSON.stringify([{ ...document, title: `${document.title} changed${at}x` }])
      updates.push(await daemon.task('POST', '/indexes/m/documents', body))
      const { hits } = await daemon.search('m', { q: `"changed${at}x"` })
      if (hits[0]?.id !== document.id) throw new Error(`document ${document.id} was not found`)
    }
    const { p50, p99, max } = percentiles(updates)
    const shown = `p50 ${milliseconds(p50)}, p99 ${milliseconds(p99)}, at most ${milliseconds(max)}`
    row('one document updated, to searchable', shown, ['4.7 s', 'p50 6 ms, at most 15 ms'])
  })
}

if (values.only !== 'million') await films36k()
if (values.only !== 'films') await aMillion()
if (values.save) await saveRun('aims', figures)
