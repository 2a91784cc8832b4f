/**
 * Searches per second with 1, 2, 4 and 8 threads that answer searches, on one data directory.
 *
 *     node dist/benchmark/http-threads.js [--films FILE] [--seconds N] [--threads 1,2,4,8] [--connections 8,64,512]
 *         [--workloads computed,cached,logged]
 *
 * Needs `dist/`, `node_modules/` and the native engine in `npm/`; no network. Without `--films`, an NDJSON file that may
 * be compressed by gzip, 36,000 films are made up. Prints a row per workload, number of threads and number of
 * connections: searches per second, p99, microseconds of processor time per search of the main thread, of the threads
 * that answer searches, and of the search threads.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import autocannon from 'autocannon'
import { freePort } from '../__test__/support/ports.js'
import { type BenchRequest, benchSettings, type Film, readCorpus, requestsFrom } from './corpus.js'
import { client, untilFinished } from './daemon.js'
import { madeFilms } from './made-films.js'

const program = fileURLToPath(new URL('../bundle/siftd.js', import.meta.url))
/** Films that are made up without a file. */
const FILMS = 36_000
/** Requests of each workload. */
const REQUESTS = 200
/** The workloads of words alone. */
const plain: ReadonlySet<string> = new Set(['title', 'title prefix', 'two words of a text'])
/** Characters of the log that are kept for an error. */
const ERROR_CHARS_MAX = 10_000
/** Hertz of the times in `/proc`. */
const TICKS = 100

const { values } = parseArgs({
  options: {
    films: { type: 'string' },
    seconds: { type: 'string', default: '4' },
    threads: { type: 'string', default: '1,2,4,8' },
    connections: { type: 'string', default: '8,64,512' },
    workloads: { type: 'string', default: 'computed,cached,logged' },
  },
})
const numbers = (text: string): readonly number[] => text.split(',').map(Number)

const wanted: ReadonlySet<string> = new Set(values.workloads.split(','))

/** The arguments of each workload. */
const workloads = {
  computed: ['--answer-cache-size', '0'],
  cached: ['--answer-cache-size', '2GiB'],
  /** With a line per request in the log, as by default. */
  logged: ['--answer-cache-size', '2GiB', '--log-level', 'info'],
} as const

const port = await freePort()
const directory = await mkdtemp(join(tmpdir(), 'siftd-threads-'))
try {
  const { bytes, films } = await corpus()
  const requests = requestsFrom(films, REQUESTS).filter(({ workload }) => plain.has(workload))
  await loadFilms(bytes)
  console.log(`${availableParallelism()} cores, ${films.length} films, ${requests.length} requests`)
  console.log(
    'workload  threads  connections  per second  p99 ms  µs per search: main  answering  searching  MB',
  )
  for (const [workload, args] of Object.entries(workloads).filter(([name]) => wanted.has(name)))
    for (const threads of numbers(values.threads)) await measure(workload, args, threads, requests)
} finally {
  await rm(directory, { recursive: true, force: true, maxRetries: 5 })
}

async function corpus(): Promise<{ readonly bytes: Buffer; readonly films: readonly Film[] }> {
  if (values.films !== undefined) return readCorpus(values.films)
  const bytes = madeFilms(FILMS)
  const lines = bytes
    .toString()
    .split('\n')
    .filter((line) => line !== '')
  return { bytes, films: lines.map((line) => JSON.parse(line) as Film) }
}

async function start(args: readonly string[]): Promise<ChildProcess> {
  const child = spawn(
    process.execPath,
    [
      program,
      ...['--engine', 'native', '--db-path', join(directory, 'data'), '--http-addr', `127.0.0.1:${port}`],
      ...['--no-analytics', ...(args.includes('--log-level') ? [] : ['--log-level', 'off']), ...args],
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  let errors = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    if (errors.length < ERROR_CHARS_MAX) errors += chunk.toString()
  })
  const call = client(port, 1)
  while ((await call('GET', '/health').catch(() => null))?.status !== 200) {
    if (child.exitCode !== null) throw new Error(`the server did not start: ${errors}`)
    await sleep(50)
  }
  // The threads listen a moment later than the main thread.
  await sleep(1_000)
  return child
}

async function stop(child: ChildProcess): Promise<void> {
  child.kill('SIGTERM')
  await new Promise((resolve) => child.once('exit', resolve))
}

async function loadFilms(bytes: Buffer): Promise<void> {
  const child = await start(['--http-threads', '1'])
  const call = client(port, 1)
  await untilFinished(
    call,
    await call('POST', '/indexes', JSON.stringify({ uid: 'films', primaryKey: 'id' })),
  )
  await untilFinished(call, await call('PATCH', '/indexes/films/settings', JSON.stringify(benchSettings)))
  await untilFinished(call, await call('POST', '/indexes/films/documents', bytes, 'application/x-ndjson'))
  await stop(child)
}

async function measure(
  workload: string,
  args: readonly string[],
  threads: number,
  requests: readonly BenchRequest[],
): Promise<void> {
  const child = await start(['--http-threads', String(threads), ...args])
  try {
    await load(requests, 8, 2)
    for (const connections of numbers(values.connections)) {
      const before = await processorTimes(child.pid ?? 0)
      const {
        requests: sent,
        latency,
        errors,
        non2xx,
      } = await load(requests, connections, Number(values.seconds))
      const after = await processorTimes(child.pid ?? 0)
      if (errors + non2xx > 0) console.log(`  ${non2xx} searches were refused, ${errors} got no answer`)
      const micros = (part: keyof Times): string =>
        (((after[part] - before[part]) / TICKS / sent.total) * 1e6).toFixed(1)
      console.log(
        [
          workload.padEnd(8),
          String(threads).padStart(8),
          String(connections).padStart(12),
          sent.average.toFixed(0).padStart(11),
          latency.p99.toFixed(1).padStart(7),
          micros('main').padStart(20),
          micros('answering').padStart(10),
          micros('searching').padStart(10),
          (await residentMb(child.pid ?? 0)).padStart(5),
        ].join(' '),
      )
    }
  } finally {
    await stop(child)
  }
}

/** Sends searches from several threads, so that the client is not the limit. */
function load(
  requests: readonly BenchRequest[],
  connections: number,
  seconds: number,
): Promise<autocannon.Result> {
  const workers = Math.max(1, Math.min(connections, Math.floor(availableParallelism() / 3)))
  return autocannon({
    url: `http://127.0.0.1:${port}`,
    connections,
    duration: seconds,
    ...(workers > 1 && { workers }),
    requests: requests.map(({ body }) => ({
      method: 'POST' as const,
      path: '/indexes/films/search',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })),
  })
}

/** Processor time by kind of thread, in ticks. */
interface Times {
  main: number
  searching: number
  /** Threads of JavaScript and of Node.js other than the main thread. */
  answering: number
}

async function processorTimes(pid: number): Promise<Times> {
  const times: Times = { main: 0, searching: 0, answering: 0 }
  for (const task of await readdir(`/proc/${pid}/task`).catch(() => [])) {
    const stat = await readFile(`/proc/${pid}/task/${task}/stat`, 'utf8').catch(() => null)
    if (stat === null) continue
    const [, name = '', rest = ''] = /^\d+ \((.*)\) (.*)$/s.exec(stat) ?? []
    const fields = rest.split(' ')
    const part = Number(task) === pid ? 'main' : name.startsWith('siftd-') ? 'searching' : 'answering'
    times[part] += Number(fields[11]) + Number(fields[12])
  }
  return times
}

async function residentMb(pid: number): Promise<string> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  return (Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024).toFixed(0)
}
