/**
 * npm run bench:writes -- [seconds] [native|fallback]: measures one-document writes over 16 connections.
 *
 * Counts the acknowledged writes, waits until all are searchable, and reports the number of batches.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import autocannon from 'autocannon'

const CONNECTIONS = 16

const [seconds = '10', engine = 'native'] = process.argv.slice(2)
const daemon = fileURLToPath(new URL('../ts/cli/main.js', import.meta.url))
const directory = await mkdtemp(join(tmpdir(), 'siftd-writes-'))
const port = await new Promise<number>((resolve) => {
  const probe = createServer().listen(0, '127.0.0.1', () => {
    const address = probe.address()
    probe.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
  })
})
const url = `http://127.0.0.1:${port}`
const args = ['--engine', engine, '--db-path', join(directory, 'data'), '--http-addr', `127.0.0.1:${port}`]
const child: ChildProcess = spawn(process.execPath, [daemon, ...args, '--log-level', 'WARN'], {
  stdio: ['ignore', 'ignore', 'inherit'],
})
try {
  while (!(await fetch(`${url}/health`).catch(() => null))?.ok) await new Promise((r) => setTimeout(r, 50))
  let serial = 0
  const result = await autocannon({
    url,
    connections: CONNECTIONS,
    duration: Number(seconds),
    requests: [
      {
        method: 'POST',
        path: '/indexes/notes/documents',
        headers: { 'content-type': 'application/json' },
        setupRequest: (request) => {
          const id = serial++
          return { ...request, body: JSON.stringify({ id, title: `note ${id}`, text: 'a few words of it' }) }
        },
      },
    ],
  })
  const began = performance.now()
  const acknowledged = result['2xx']
  let left = 1
  while (left > 0) {
    await new Promise((resolve) => setTimeout(resolve, 50))
    const page = await fetch(`${url}/tasks?statuses=enqueued,processing&limit=0`)
    left = ((await page.json()) as { total: number }).total
  }
  const drainedMs = performance.now() - began
  const total = async (path: string) => ((await (await fetch(url + path)).json()) as { total: number }).total
  console.log({
    engine,
    connections: CONNECTIONS,
    perSecond: Math.round(acknowledged / result.duration),
    acknowledged,
    refused: result.non2xx,
    latencyMs: { p50: result.latency.p50, p99: result.latency.p99 },
    drainedMs: Math.round(drainedMs),
    batches: await total('/batches?limit=0'),
    documents: await total('/indexes/notes/documents?limit=0'),
    failed: await total('/tasks?statuses=failed&limit=0'),
    cpuMs: await cpuMs(child.pid ?? 0),
  })
} finally {
  child.kill('SIGKILL')
  await rm(directory, { recursive: true, force: true })
}

/** Returns the processor time of the daemon in milliseconds, all threads; null if the system does not report it. */
async function cpuMs(pid: number): Promise<number | null> {
  const { readFile } = await import('node:fs/promises')
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null)
  if (stat === null) return null
  // The name in parentheses may contain blanks. User and system time are the 12th and 13th fields after it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}
