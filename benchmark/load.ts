/**
 * Many clients search while one writes many small batches. Checks that every request succeeds, every total is right,
 * and memory does not grow.
 *
 *     node dist/benchmark/load.js [engine] [searchers] [batches]
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { Agent, request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../__test__/support/ports.js'

/** Documents per batch. They become visible together. */
const BATCH_DOCUMENTS = 10
/** Number of waiting batches at which the writer waits for the queue. */
const AHEAD_MAX = 20

interface Figures {
  readonly latenciesMs: number[]
  failed: number
  wrongTotals: number
}

const [engine = 'auto', searchers = '50', batches = '1000'] = process.argv.slice(2)
const directory = await mkdtemp(join(tmpdir(), 'siftd-load-'))
const port = await freePort()
const server = spawn(
  process.execPath,
  ['dist/ts/cli/main.js', '--engine', engine, '--db-path', directory, '--http-addr', `127.0.0.1:${port}`],
  { stdio: 'ignore', env: { ...process.env, SVC_LOG_LEVEL: 'ERROR' } },
)
try {
  await run(server)
} finally {
  server.kill()
  await new Promise((resolve) => server.once('exit', resolve))
  await rm(directory, { recursive: true, force: true })
}

async function run(child: ChildProcess): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 200 })
  while ((await call(agent, 'GET', '/health').catch(() => ({ status: 0 }))).status !== 200) await sleep(50)
  await settled(
    agent,
    await call(agent, 'PATCH', '/indexes/load/settings', { filterableAttributes: ['batch'] }),
  )
  const figures: Figures = { latenciesMs: [], failed: 0, wrongTotals: 0 }
  let isWriting = true
  const clients = Array.from({ length: Number(searchers) }, async (_, client) => {
    while (isWriting) await search(agent, client, figures)
  })
  const memory: number[] = []
  const started = performance.now()
  for (let batch = 0; batch < Number(batches); batch++) {
    const documents = Array.from({ length: BATCH_DOCUMENTS }, (_, at) => ({
      id: batch * BATCH_DOCUMENTS + at,
      title: `harbour ${word(batch)} lantern ${word(at)}`,
      batch,
    }))
    const accepted = await call(agent, 'POST', '/indexes/load/documents', documents)
    if (accepted.status !== 202) figures.failed++
    else if (batch % AHEAD_MAX === AHEAD_MAX - 1) await settled(agent, accepted)
    if (batch % 50 === 49) memory.push(await residentMb(child))
  }
  isWriting = false
  await Promise.all(clients)
  const seconds = (performance.now() - started) / 1000
  const sorted = figures.latenciesMs.toSorted((a, b) => a - b)
  const at = (share: number): string => (sorted[Math.floor((sorted.length - 1) * share)] ?? 0).toFixed(1)
  console.log(
    `${engine}: ${searchers} clients, ${batches} batches of ${BATCH_DOCUMENTS} in ${seconds.toFixed(1)} s: ` +
      `${sorted.length} searches, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, max ${at(1)} ms; ` +
      `${figures.failed} failed, ${figures.wrongTotals} wrong totals; resident MB ${memory.join(' ')}`,
  )
  agent.destroy()
  if (figures.failed + figures.wrongTotals > 0) process.exitCode = 1
}

function word(number: number): string {
  return ['north', 'amber', 'quiet', 'seven', 'stone'][number % 5] ?? ''
}

/** A total is right if it is a multiple of the batch size: partial batches must not be visible. */
async function search(agent: Agent, client: number, figures: Figures): Promise<void> {
  const isFiltered = client % 2 === 1
  const body = isFiltered
    ? { q: '', filter: `batch = ${client}`, limit: 3 }
    : { q: 'harbour lantern', limit: 3 }
  const started = performance.now()
  try {
    const { status, text } = await call(agent, 'POST', '/indexes/load/search', body)
    figures.latenciesMs.push(performance.now() - started)
    const total = (JSON.parse(text) as { estimatedTotalHits?: number }).estimatedTotalHits ?? -1
    if (status !== 200) figures.failed++
    else if (total % BATCH_DOCUMENTS !== 0 || total < 0) figures.wrongTotals++
  } catch {
    figures.failed++
  }
}

async function settled(agent: Agent, accepted: { readonly text: string }): Promise<void> {
  const { taskUid } = JSON.parse(accepted.text) as { taskUid: number }
  for (;;) {
    const { status } = JSON.parse((await call(agent, 'GET', `/tasks/${taskUid}`)).text) as { status: string }
    if (status === 'succeeded') return
    if (status === 'failed' || status === 'canceled') throw new Error(`task ${taskUid} ${status}`)
    await sleep(10)
  }
}

async function residentMb({ pid }: ChildProcess): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024)
}

function call(
  agent: Agent,
  method: string,
  path: string,
  body?: unknown,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const headers = body === undefined ? {} : { 'content-type': 'application/json' }
    const outgoing = httpRequest({ agent, host: '127.0.0.1', port, method, path, headers }, (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.on('end', () =>
        resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString() }),
      )
    })
    outgoing.on('error', reject)
    outgoing.end(body === undefined ? undefined : JSON.stringify(body))
  })
}
