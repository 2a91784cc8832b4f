/**
 * npm run bench:bucket -- [--engine NAME] [--seconds S] [--shared DIRECTORY] [--save]
 *
 * Measures the cost of a bucket for a server, and the lag of a follower, at several latencies of the bucket. Needs Go
 * to install the object store.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import autocannon from 'autocannon'
import { startDaemon, type TestDaemon } from '../__test__/support/daemon.js'
import { startFaultProxy } from '../__test__/support/fault-proxy.js'
import { accessKeyId, bucket, secretAccessKey, startStore } from '../__test__/support/store-servers.js'
import { million } from './million.js'
import { type Figure, saveRun } from './results.js'

const { values } = parseArgs({
  options: {
    engine: { type: 'string', default: 'native' },
    seconds: { type: 'string', default: '5' },
    shared: { type: 'string', default: '../shared' },
    only: { type: 'string' },
    'import-mb': { type: 'string', default: '90' },
    save: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  console.log(`npm run bench:bucket -- [options]

  --engine NAME        native or fallback                     (default native)
  --seconds S          duration of each load                  (default 5)
  --shared DIRECTORY   folder of the films for the million documents (default ../shared)
  --only PART          million: the start from the bucket; import: small writes during a large import
  --import-mb MB       size of the large import               (default 90)
  --save               adds the figures to benchmark/runs and RESULTS.md`)
  process.exit(0)
}
const { engine } = values
const seconds = Number(values.seconds)

/** Added latency of each call to the bucket, in milliseconds. */
const LATENCIES = [0, 20, 100]
const CONNECTIONS = [1, 16, 100]
/** Number of documents, in sequence, to time from writer to follower. */
const LAGS = 60
/** Milliseconds in which the merges after a commit are finished and sent. */
const SETTLED_MS = 15_000
/** Searches that the restored server must answer like the writer. */
const SEARCHES: readonly object[] = [
  { q: 'love' },
  { q: 'yong woman' },
  { q: 'new york', limit: 100 },
  { q: '', facets: ['genre', 'year'] },
  { q: 'the', sort: ['year:asc'], filter: 'year > 1990' },
]
/** Documents per second that a writer receives, in sequence, while its follower is searched. */
const WRITES_A_SECOND = 20
/** Length of the pieces in which a large import is sent. */
const CHUNK_CHARS = 2 ** 18

const ends: (() => unknown)[] = []
const t = { teardown: (end: () => unknown) => void ends.push(end) }
const directory = await mkdtemp(join(tmpdir(), 'siftd-bench-bucket-'))
const figures: Figure[] = []
let started = 0
process.env.AWS_ACCESS_KEY_ID = accessKeyId
process.env.AWS_SECRET_ACCESS_KEY = secretAccessKey

try {
  const store = await startStore(t, 'gofakes3')
  const isAll = values.only === undefined
  if (isAll) await writes('no bucket', [], null)
  for (const latency of isAll ? LATENCIES : []) {
    const proxy = await startFaultProxy({ store, lot: () => 1, failing: 0, delayMs: latency })
    t.teardown(() => proxy.close())
    for (const ack of ['local', 'bucket'] as const)
      await writes(`${ack}, ${latency} ms`, [...bucketAt(proxy.origin), '--bucket-ack', ack], proxy.methods)
    await followed(latency, bucketAt(proxy.origin))
  }
  if (isAll || values.only === 'import') await writesDuringImport(store)
  if (isAll || values.only === 'million') await restored(store)
  for (const { table, label, measured } of figures) console.log(table, '·', label, measured)
  if (values.save) await saveRun('bucket', figures)
} finally {
  for (const end of ends.toReversed()) await end()
  await rm(directory, { recursive: true, force: true })
}

/** Returns options for a bucket with an unused prefix. */
function bucketAt(origin: string): readonly string[] {
  return [
    ...['--bucket', `s3://${bucket}/bench-${started}`, '--bucket-endpoint', origin],
    ...['--experimental-allowed-ip-networks', '127.0.0.0/8'],
  ]
}

function start(args: readonly string[]): Promise<TestDaemon> {
  const data = join(directory, `${started++}`)
  return startDaemon(t, data, ['--engine', engine, '--log-level', 'ERROR', ...args])
}

/**
 * Measures ten small writes per second while a large import goes to a bucket that takes 5 MB per second and call: until
 * the import is acknowledged, and until its task has ended.
 */
async function writesDuringImport(store: string): Promise<void> {
  const proxy = await startFaultProxy({
    ...{ store, lot: () => 1, failing: 0, delayMs: 20, bytesPerSecond: 5_000_000 },
  })
  t.teardown(() => proxy.close())
  const bytes = Number(values['import-mb']) * 1e6
  const server = await start([
    ...[...bucketAt(proxy.origin), '--bucket-ack', 'bucket'],
    ...['--http-payload-size-limit', String(2 * bytes + 1e6)],
  ])
  const post = (index: string, body: string | Readable): Promise<Response> =>
    fetch(`http://127.0.0.1:${server.port}/indexes/${index}/documents`, {
      ...{ method: 'POST', headers: { 'content-type': 'application/x-ndjson' }, body, duplex: 'half' },
    })
  await post('small', '{"id":0}')
  const text = 'word '.repeat(180)
  const lines = async function* (): AsyncGenerator<string> {
    let chunk = ''
    for (let id = 0; id < bytes / 1000; id++) {
      chunk += `${JSON.stringify({ id, text: `${id} ${text}` })}\n`
      if (chunk.length < CHUNK_CHARS) continue
      yield chunk
      chunk = ''
      // The proxy is in this process.
      await setImmediate()
    }
    yield chunk
  }
  const importing = post('large', Readable.from(lines()))
  const accepted = importing.then((answer) => answer.json() as Promise<{ readonly taskUid: number }>)
  const task = accepted.then(({ taskUid }) => ended(server, taskUid))
  const label = `during an import of ${bytes / 1e6} MB, 5 MB/s`
  for (const [phase, work] of [
    [label, importing],
    [`${label}, while its task runs`, task],
  ] as const) {
    const { p50, p99, refused, count } = await smallWrites(post, work)
    figures.push({
      ...{ table: 'ten small writes a second, acknowledged by the bucket', label: phase },
      measured: { [engine]: `p50 ${p50} ms, p99 ${p99} ms, ${refused} of ${count} refused` },
    })
  }
  if ((await importing).status !== 202)
    throw new Error(`the import was answered with ${(await importing).status}`)
  await server.stop()
}

/** Measures small writes, ten a second, until `work` is done. */
async function smallWrites(post: (index: string, body: string) => Promise<Response>, work: Promise<unknown>) {
  let isDone = false
  const end = work.finally(() => {
    isDone = true
  })
  const times: number[] = []
  let refused = 0
  const writes: Promise<void>[] = []
  for (let id = 1; !isDone; id++) {
    const began = performance.now()
    const write = post('small', JSON.stringify({ id })).then(async (answer) => {
      times.push(performance.now() - began)
      if (answer.status === 202) return
      refused++
      console.log(`refused with ${answer.status}: ${await answer.text()}`)
    })
    writes.push(write)
    await setTimeout(100)
  }
  await Promise.all([...writes, end])
  times.sort((a, b) => a - b)
  const at = (share: number): number => Math.round(times[Math.floor(share * (times.length - 1))] ?? 0)
  return { p50: at(0.5), p99: at(0.99), refused, count: times.length }
}

/** Measures one-document tasks per second, their latency, and calls to the bucket per thousand tasks. */
async function writes(
  label: string,
  args: readonly string[],
  methods: ReadonlyMap<string, number> | null,
): Promise<void> {
  const server = await start(args)
  const before = new Map(methods ?? [])
  let tasks = 0
  for (const connections of CONNECTIONS) {
    let serial = 0
    const result = await autocannon({
      url: `http://127.0.0.1:${server.port}`,
      connections,
      duration: seconds,
      requests: [
        {
          method: 'POST',
          path: '/indexes/notes/documents',
          headers: { 'content-type': 'application/json' },
          setupRequest: (request) => ({
            ...request,
            body: JSON.stringify({ id: serial++, title: 'a note' }),
          }),
        },
      ],
    })
    if (result.non2xx > 0) throw new Error(`${label}: ${result.non2xx} writes were refused`)
    tasks += result['2xx']
    const perSecond = Math.round(result['2xx'] / result.duration)
    add('one-document tasks a second', label, connections, `${perSecond} (p50 ${result.latency.p50} ms)`)
  }
  if (methods !== null) {
    const calls = (method: string): string =>
      String(Math.round((((methods.get(method) ?? 0) - (before.get(method) ?? 0)) / tasks) * 1000))
    const measured = { PUT: calls('PUT'), GET: calls('GET') }
    figures.push({ table: 'calls per 1,000 tasks', label, measured })
  }
  await server.kill()
}

/** Measures the time from the end of a task at the writer until a follower shows it, and the follower's cost. */
async function followed(latency: number, args: readonly string[]): Promise<void> {
  const writer = await start([...args, '--bucket-ack', 'bucket', '--bucket-interval', '100'])
  await ended(writer, (await writer.call('POST', '/indexes/notes/documents', [{ id: 0 }])).body.taskUid)
  const follower = await start([...args, '--follow', '--bucket-interval', '100'])
  const usedBefore = await cpuMs(follower.pid)
  const lags: number[] = []
  for (let id = 1; id <= LAGS; id++) {
    const { taskUid } = (await writer.call('POST', '/indexes/notes/documents', [{ id, title: `note ${id}` }]))
      .body
    await ended(writer, taskUid)
    const from = performance.now()
    await ended(follower, taskUid)
    lags.push(performance.now() - from)
  }
  lags.sort((one, other) => one - other)
  const at = (share: number): string => `${Math.round(lags[Math.floor(lags.length * share)] ?? 0)} ms`
  const cost = ((await cpuMs(follower.pid)) - usedBefore) / LAGS
  figures.push({
    ...{ table: 'a follower that looks every 100 ms', label: `${latency} ms` },
    measured: { 'lag p50': at(0.5), 'lag p99': at(0.99), 'processor per commit': `${cost.toFixed(1)} ms` },
  })
  figures.push({
    ...{ table: 'searches a second of a follower', label: `${latency} ms` },
    measured: {
      'while nothing is written': await searches(follower),
      [`while ${WRITES_A_SECOND} documents a second are written`]: await searchesDuringWrites(
        writer,
        follower,
      ),
    },
  })
  await follower.kill()
  await writer.kill()
}

/** Times the start of a server without data from a bucket with a million documents. Compares its answers. */
async function restored(store: string): Promise<void> {
  const args = bucketAt(store)
  const writer = await start(args)
  await writer.call('PATCH', '/indexes/m/settings', {
    filterableAttributes: ['genre', 'year'],
    sortableAttributes: ['year'],
  })
  let last: unknown
  for (const body of await million(join(values.shared, 'data'))) {
    const headers = { 'content-type': 'application/x-ndjson' }
    const url = `http://127.0.0.1:${writer.port}/indexes/m/documents`
    last = ((await (await fetch(url, { method: 'POST', headers, body })).json()) as { taskUid: unknown })
      .taskUid
  }
  await ended(writer, last)
  const answers = async (server: TestDaemon): Promise<readonly string[]> =>
    Promise.all(
      SEARCHES.map(async (body) =>
        JSON.stringify((await server.call('POST', '/indexes/m/search', body)).body.hits),
      ),
    )
  const wanted = await answers(writer)
  const tasks = JSON.stringify((await writer.call('GET', '/tasks?limit=1000')).body)
  // Merged segments are sent some seconds after the last commit.
  await setTimeout(SETTLED_MS)
  while (await isBehind(writer)) await setTimeout(100)
  await writer.kill()
  for (const latency of LATENCIES) {
    const proxy = await startFaultProxy({ store, lot: () => 1, failing: 0, delayMs: latency })
    const from = performance.now()
    const made = await start(args.map((arg) => (arg === store ? proxy.origin : arg)))
    const seconds = ((performance.now() - from) / 1000).toFixed(1)
    const found = await answers(made)
    if (found.some((one, at) => one !== wanted[at])) throw new Error('the restored server has other answers')
    if (JSON.stringify((await made.call('GET', '/tasks?limit=1000')).body) !== tasks)
      throw new Error('the restored server lists other tasks')
    figures.push({
      ...{ table: 'a server without data, to ready with the million', label: `${latency} ms` },
      measured: { [engine]: `${seconds} s` },
    })
    await made.kill()
    await proxy.close()
  }
}

async function isBehind(server: TestDaemon): Promise<boolean> {
  const { replication } = (await server.call('GET', '/stats')).body as unknown as {
    replication: { unsentTransactions: number }
  }
  return replication.unsentTransactions > 0
}

/** Measures the searches per second of a server. */
async function searches({ port }: TestDaemon): Promise<string> {
  const result = await autocannon({
    url: `http://127.0.0.1:${port}/indexes/notes/search?q=note`,
    connections: 16,
    duration: seconds,
  })
  if (result.non2xx > 0) throw new Error(`${result.non2xx} searches were refused`)
  return String(Math.round(result['2xx'] / result.duration))
}

/** Measures the searches per second of a follower while its writer receives documents. */
async function searchesDuringWrites(writer: TestDaemon, follower: TestDaemon): Promise<string> {
  let isSearching = true
  const writing = (async () => {
    for (let id = LAGS + 1; isSearching; id++) {
      await writer.call('POST', '/indexes/notes/documents', [{ id, title: `note ${id}` }])
      await setTimeout(1000 / WRITES_A_SECOND)
    }
  })()
  const found = await searches(follower)
  isSearching = false
  await writing
  return found
}

async function ended(server: TestDaemon, uid: unknown): Promise<void> {
  for (;;) {
    const { status } = (await server.call('GET', `/tasks/${uid}`)).body
    if (status === 'succeeded') return
    if (status === 'failed') throw new Error(`task ${uid} failed`)
    await setTimeout(2)
  }
}

function add(table: string, label: string, connections: number, value: string): void {
  figures.push({ table, label: `${label}, ${connections} connections`, measured: { [engine]: value } })
}

/** Returns the processor time of a process in milliseconds; 0 if the system does not report it. */
async function cpuMs(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) * 10
}
