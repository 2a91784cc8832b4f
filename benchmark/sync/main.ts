/** npm run bench:sync: see the help below. Needs PostgreSQL from the packages of the system. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { postgresProgram, postgresPrograms, TestPostgres } from '../../__test__/support/postgres.js'
import { program } from '../../__test__/support/program.js'
import { client, startDaemon, untilFinished } from '../daemon.js'
import {
  bytesOnDisk,
  familyProcessorSeconds,
  megabytes,
  memoryKib,
  percentiles,
  processorSeconds,
  untilIdle,
  watchBusy,
} from '../measure.js'
import { type Figure, saveRun } from '../results.js'
import { changeRows } from './change-load.js'
import { LagProbe } from './lag-probe.js'
import { fill, mapping, schema, searches, settings, UID } from './products.js'

const help = `npm run bench:sync -- [options]

Measures \`siftd sync postgres\`: the copy of a table, next to COPY alone and to a script that posts the same documents;
then the time from a commit until its document is visible, while rows change.

  --rows N         rows of the table                    (default 1000000)
  --rate N         changed rows per second              (default 1000)
  --seconds S      duration of the changes              (default 60)
  --engine NAME    native or fallback                   (default native)
  --only PART      copy: no changes; lag: no copy by hand
  --profile DIR    writes processor profiles of the sync and the server
  --save           adds the figures to benchmark/runs and RESULTS.md`

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    rate: { type: 'string', default: '1000' },
    seconds: { type: 'string', default: '60' },
    engine: { type: 'string', default: 'native' },
    only: { type: 'string' },
    profile: { type: 'string' },
    save: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  console.log(help)
  process.exit(0)
}
if (postgresPrograms.missing !== null) throw new Error(postgresPrograms.missing)

const [rows, rate, seconds] = [Number(values.rows), Number(values.rate), Number(values.seconds)]
const MEMORY_AIM_MB = 150
/** Settings of a small dedicated server. */
const postgresOptions = ['shared_buffers=256MB', 'max_wal_size=4GB', 'maintenance_work_mem=256MB']

const nodeOptions = values.profile === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', values.profile]
const file = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

type Server = Awaited<ReturnType<typeof startDaemon>>
type Call = ReturnType<typeof client>

const ends: (() => unknown)[] = []
const directory = await mkdtemp(join(tmpdir(), 'siftd-bench-sync-'))
const figures: Figure[] = []
const busy = watchBusy()

const tables = {
  copy: `${rows.toLocaleString('en')} rows copied`,
  lag: `${rate.toLocaleString('en')} changed rows a second for ${seconds} s`,
}
function add(table: string, label: string, measured: string, aim = ''): void {
  console.log(`| ${table} | ${label} | ${measured} | ${aim} |`)
  figures.push({ table, label, measured: { [values.engine]: measured }, beside: { aim } })
}

try {
  const postgres = await TestPostgres.start(
    { teardown: (end) => void ends.push(end) },
    postgresOptions.flatMap((one) => ['-c', one]),
  )
  await postgres.sql(schema)
  await fill(postgresProgram('psql'), postgres.url, rows)
  await postgres.sql('vacuum analyze products')
  let expected: Answers | null = null
  let handSeconds: number | null = null
  if (values.only !== 'lag') {
    add(tables.copy, 'COPY to /dev/null', `${(await copyAlone(postgres.url)).toFixed(1)} s`)
    const server = await started('by-hand')
    ;({ answers: expected, seconds: handSeconds } = await copyByHand(server, postgres))
    await stopped(server)
    await rm(join(directory, 'by-hand'), { recursive: true, force: true })
  }
  const server = await started('synced')
  const config = join(directory, 'sync.json')
  const url = `http://127.0.0.1:${server.port}`
  await writeFile(
    config,
    JSON.stringify({ source: { url: postgres.url }, target: { url }, index: [mapping] }),
  )
  const copied = await copyBySync(server, postgres, config, handSeconds)
  if (expected !== null) compare(expected, copied)
  if (values.only !== 'copy') await followed(server, postgres, config)
  await stopped(server)
  const { before, most, stolenPercent } = busy()
  console.log(
    `load ${before.toFixed(1)} before, at most ${most.toFixed(1)}; stolen ${stolenPercent ?? '?'} %`,
  )
  if (values.save) await saveRun('sync', figures)
} finally {
  for (const end of ends.toReversed()) await end()
  await rm(directory, { recursive: true, force: true })
}

async function started(name: string): Promise<Server> {
  const server = await startDaemon(values.engine, join(directory, name), [], nodeOptions)
  ends.push(() => server.child.kill('SIGKILL'))
  const call = client(server.port, 1)
  const created = await call('POST', '/indexes', JSON.stringify({ uid: UID, primaryKey: 'id' }))
  await untilFinished(call, created)
  await untilFinished(call, await call('PATCH', `/indexes/${UID}/settings`, JSON.stringify(settings)))
  return server
}

async function stopped({ child }: Server): Promise<void> {
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}

async function copyAlone(url: string): Promise<number> {
  const began = performance.now()
  const copying = spawn(postgresProgram('psql'), [url, '-q', '-c', 'copy products to stdout'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  await once(copying, 'exit')
  return (performance.now() - began) / 1000
}

/** Processor time of the three sides in seconds. */
async function processorTimes(server: Server, postgres: TestPostgres, pid?: number): Promise<number[]> {
  return [
    pid === undefined ? 0 : await processorSeconds(pid),
    await processorSeconds(server.pid),
    await familyProcessorSeconds(postgres.pid),
  ]
}

function processorText(before: readonly number[], after: readonly number[]): string {
  const [own, server, database] = after.map((time, at) => (time - (before[at] ?? 0)).toFixed(1))
  return `processor: copying ${own} s, server ${server} s, PostgreSQL ${database} s`
}

async function copyByHand(
  server: Server,
  postgres: TestPostgres,
): Promise<{ readonly answers: Answers; readonly seconds: number }> {
  const before = await processorTimes(server, postgres)
  const began = performance.now()
  const url = `http://127.0.0.1:${server.port}`
  const child = spawn(process.execPath, [file('by-hand.js'), postgres.url, url], { stdio: 'inherit' })
  let own = 0
  const watch = setInterval(async () => {
    const now = await processorSeconds(child.pid ?? 0)
    if (!Number.isNaN(now)) own = now
  }, 100)
  const [code] = (await once(child, 'exit')) as [number | null]
  clearInterval(watch)
  if (code !== 0) throw new Error(`the copy by hand ended with ${code}`)
  const seconds = (performance.now() - began) / 1000
  const [, ...others] = await processorTimes(server, postgres)
  add(tables.copy, 'by hand, to searchable', `${seconds.toFixed(1)} s`)
  add(tables.copy, 'by hand, processor', processorText(before, [own, ...others]))
  add(tables.copy, 'by hand, disk', megabytes(await bytesOnDisk(join(directory, 'by-hand'))))
  return { answers: await answersOf(client(server.port, 1)), seconds }
}

interface RunningSync {
  readonly pid: number
  log(): string
  stop(): Promise<void>
}

function startSync(config: string): RunningSync {
  const args = ['sync', 'postgres', 'run', '--config', config]
  const child = spawn(process.execPath, [...nodeOptions, program, ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  ends.push(() => child.kill('SIGKILL'))
  let text = ''
  child.stderr.on('data', (part: Buffer) => {
    text += part.toString()
  })
  return {
    pid: child.pid ?? 0,
    log: () => text,
    async stop() {
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
    },
  }
}

async function until(sync: RunningSync, isReached: () => Promise<boolean>): Promise<void> {
  while (!(await isReached())) {
    if (Number.isNaN(await processorSeconds(sync.pid))) throw new Error(`the sync ended: ${sync.log()}`)
    await sleep(50)
  }
}

async function documentsOf(call: Call): Promise<number> {
  const { text } = await call('GET', `/indexes/${UID}/stats`)
  return (JSON.parse(text) as { numberOfDocuments: number }).numberOfDocuments
}

async function copyBySync(
  server: Server,
  postgres: TestPostgres,
  config: string,
  handSeconds: number | null,
): Promise<Answers> {
  const call = client(server.port, 1)
  const before = await processorTimes(server, postgres)
  const began = performance.now()
  const sync = startSync(config)
  await until(sync, async () => (await documentsOf(call)) === rows)
  const seconds = (performance.now() - began) / 1000
  await until(sync, async () => sync.log().includes('following changes'))
  const following = (performance.now() - began) / 1000
  const after = await processorTimes(server, postgres, sync.pid)
  const aim = handSeconds === null ? '' : `${(1.5 * handSeconds).toFixed(1)} s: 1.5 times by hand`
  add(tables.copy, 'sync, to searchable', `${seconds.toFixed(1)} s`, aim)
  add(tables.copy, 'sync, to following changes', `${following.toFixed(1)} s`)
  add(tables.copy, 'sync, processor', processorText(before, after))
  add(tables.copy, 'sync, peak resident memory', await peakMemory(sync), `${MEMORY_AIM_MB} MB`)
  add(tables.copy, 'sync, disk of the server', megabytes(await bytesOnDisk(join(directory, 'synced'))))
  await sync.stop()
  return answersOf(call)
}

async function peakMemory({ pid }: RunningSync): Promise<string> {
  return megabytes((await memoryKib(pid, 'VmHWM')) * 1024)
}

async function followed(server: Server, postgres: TestPostgres, config: string): Promise<void> {
  await untilIdle(server.pid)
  const call = client(server.port, 2)
  const sync = startSync(config)
  await until(sync, async () => sync.log().includes('following changes'))
  const database = await postgres.connect()
  const probe = new LagProbe(client(server.port, 1))
  const slots: number[] = []
  const watch = setInterval(async () => {
    const [slot] = await postgres.sql(
      'select pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)::float8 as bytes from pg_replication_slots',
    )
    slots.push(Number(slot?.bytes ?? 0))
  }, 1000)
  const before = await processorTimes(server, postgres, sync.pid)
  const changed = await changeRows({ database, probe, rows, rate, seconds })
  const after = await processorTimes(server, postgres, sync.pid)
  const { lagsMs, readsMs } = await probe.finished()
  clearInterval(watch)
  await database.end()
  const [lag, read] = [percentiles(lagsMs), percentiles(readsMs)]
  const perSecond = Math.round(changed.rows / changed.seconds)
  const shown = (milliseconds: number): string => `${(milliseconds / 1000).toFixed(3)} s`
  add(tables.lag, 'changes', `${perSecond} rows a second in ${changed.transactions} transactions`)
  add(tables.lag, `lag p50 of ${lagsMs.length} commits`, shown(lag.p50), '0.3 s')
  add(tables.lag, 'lag p99', shown(lag.p99), '1 s')
  add(tables.lag, 'lag, most', shown(lag.max))
  add(tables.lag, 'between two reads, p50 and p99', `${read.p50.toFixed(0)} ms, ${read.p99.toFixed(0)} ms`)
  add(tables.lag, 'processor', processorText(before, after).replace('copying', 'sync'))
  add(tables.lag, 'sync, peak resident memory', await peakMemory(sync), `${MEMORY_AIM_MB} MB`)
  add(tables.lag, 'log kept for the slot, most', megabytes(Math.max(0, ...slots)))
  await checkRest(call, postgres)
  await sync.stop()
}

/** Compares the number of documents and the sum of their versions with the table. */
async function checkRest(call: Call, postgres: TestPostgres): Promise<void> {
  const [row] = await postgres.sql(
    'select count(*)::int as count, max(version) as version, (array_agg(id order by version desc))[1:1000] as ids from products',
  )
  const { count, ids } = row as { readonly count: number; readonly ids: readonly string[] }
  const found = await documentsOf(call)
  if (found !== count) throw new Error(`the index has ${found} documents, the table ${count} rows`)
  const body = { ids, limit: ids.length, fields: ['id', 'version', 'description'] }
  const { text } = await call('POST', `/indexes/${UID}/documents/fetch`, JSON.stringify(body))
  const { results } = JSON.parse(text) as { results: { id: number; version: number; description: string }[] }
  const rowsNow = await postgres.sql('select id, version, description from products where id = any($1)', [
    ids,
  ])
  const documents = new Map(results.map((one) => [String(one.id), one]))
  for (const { id, version, description } of rowsNow) {
    const document = documents.get(String(id))
    if (document?.version !== version || document?.description !== description)
      throw new Error(`document ${id} differs from its row`)
  }
}

interface Answers {
  readonly documents: number
  readonly hits: readonly string[]
}

async function answersOf(call: Call): Promise<Answers> {
  const hits: string[] = []
  for (const body of searches()) {
    const { status, text } = await call('POST', `/indexes/${UID}/search`, JSON.stringify(body))
    if (status !== 200) throw new Error(text)
    const { hits: found, estimatedTotalHits, facetDistribution } = JSON.parse(text)
    hits.push(JSON.stringify(sorted([found, estimatedTotalHits, facetDistribution])))
  }
  return { documents: await documentsOf(call), hits }
}

/** Sorts the members of objects: `jsonb` and the script order them differently. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, member]) => [name, sorted(member)]),
  )
}

function compare(expected: Answers, actual: Answers): void {
  if (expected.documents !== actual.documents)
    throw new Error(`${actual.documents} documents instead of ${expected.documents}`)
  for (const [search, one] of expected.hits.entries()) {
    const other = actual.hits[search] ?? ''
    if (one === other) continue
    const at = [...one].findIndex((letter, index) => letter !== other[index])
    const part = (text: string): string => text.slice(Math.max(0, at - 200), at + 200)
    throw new Error(`search ${search} differs:\n${part(one)}\n${part(other)}`)
  }
}
