/**
 * npm run bench:indexing -- [--engine native|fallback] [--cap 100MB] [--updates 1000] [--from DIRECTORY] FILE.ndjson
 * ...
 *
 * Uploads files over HTTP and waits until the last one is searchable and merging has ended. Then updates documents of
 * the last file, in sequence. Samples the daemon's memory from outside. `--from` copies a data directory with the index
 * instead of loading it.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import {
  bytesOnDisk,
  megabytes,
  memoryKib,
  percentiles,
  processorSeconds,
  untilIdle,
  watchMemory,
} from './measure.js'

const INDEX = 'm'

const { values, positionals: files } = parseArgs({
  allowPositionals: true,
  options: {
    engine: { type: 'string', default: 'native' },
    cap: { type: 'string' },
    updates: { type: 'string', default: '0' },
    from: { type: 'string' },
  },
})
if (files.length === 0) throw new Error('expected at least one NDJSON file with documents that have an `id`')

const directory = await mkdtemp(join(tmpdir(), 'siftd-indexing-'))
const data = join(directory, 'data')
if (values.from !== undefined) cpSync(values.from, data, { recursive: true })
const port = await new Promise<number>((resolve) => {
  const probe = createServer().listen(0, '127.0.0.1', () => {
    const address = probe.address()
    probe.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
  })
})
const url = `http://127.0.0.1:${port}`
const daemon = fileURLToPath(new URL('../ts/cli/main.js', import.meta.url))
const options = ['--engine', values.engine, '--db-path', data, '--http-addr', `127.0.0.1:${port}`]
const cap = values.cap === undefined ? [] : ['--max-indexing-memory', values.cap]
const child: ChildProcess = spawn(process.execPath, [daemon, ...options, ...cap, '--log-level', 'WARN'], {
  stdio: ['ignore', 'ignore', 'inherit'],
})
const pid = child.pid ?? 0

async function call<T>(method: string, path: string, body?: string | Buffer, type = 'application/json') {
  const headers: Record<string, string> = body === undefined ? {} : { 'content-type': type }
  const answer = await fetch(url + path, { method, headers, body: body ?? null })
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as T
}

/** Waits for a task. @returns the milliseconds since `began` */
async function finished(taskUid: number, began: number): Promise<number> {
  for (;;) {
    const task = await call<{ finishedAt: string | null; status: string }>('GET', `/tasks/${taskUid}`)
    if (task.finishedAt !== null && task.status !== 'succeeded') throw new Error(JSON.stringify(task))
    if (task.finishedAt !== null) return performance.now() - began
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}

const put = (path: string, body: string | Buffer, type: string) =>
  call<{ taskUid: number }>('POST', `/indexes/${INDEX}/documents${path}`, body, type)

/** Reads the number of segments from the manifest of the newest commit of the native index. */
async function segments(): Promise<number | null> {
  const indexes = join(data, 'indexes')
  for (const name of await readdir(indexes).catch(() => [])) {
    const index = join(indexes, name)
    if (!(await stat(index)).isDirectory()) continue
    const commits = (await readdir(index)).filter((file) => /^commit-\d{20}$/.test(file)).sort()
    const newest = commits.at(-1)
    if (newest === undefined) continue
    const bytes = await readFile(join(index, newest))
    const offset = Number(bytes.readBigUInt64LE(bytes.length - 28))
    const length = Number(bytes.readBigUInt64LE(bytes.length - 20))
    const manifest = JSON.parse(bytes.subarray(offset, offset + length).toString()) as { segments: unknown[] }
    return manifest.segments.length
  }
  return null
}

async function load(): Promise<void> {
  const idle = await memoryKib(pid, 'RssAnon')
  const stop = watchMemory(pid)
  const began = performance.now()
  let last = 0
  for (const file of files) {
    last = (await put('?primaryKey=id', await readFile(file), 'application/x-ndjson')).taskUid
  }
  const searchableMs = await finished(last, began)
  const rightAfter = await bytesOnDisk(data)
  await untilIdle(pid)
  const peak = await stop()
  console.log({
    searchableSeconds: (searchableMs / 1000).toFixed(2),
    processorSeconds: await processorSeconds(pid),
    disk: { rightAfter: megabytes(rightAfter), merged: megabytes(await bytesOnDisk(data)) },
    segments: await segments(),
    memory: {
      idle: megabytes(idle * 1024),
      peakAnonymous: megabytes(peak.anonymous),
      grownBy: megabytes(peak.anonymous - idle * 1024),
      peakResident: megabytes(peak.resident),
      cap: values.cap ?? 'none given',
    },
  })
}

async function update(count: number): Promise<void> {
  const lines = (await readFile(files.at(-1)!, 'utf8')).split('\n').filter((line) => line !== '')
  const times: number[] = []
  let missing = 0
  for (let number = 0; number < count; number++) {
    // Spreads the updates over the file, so that they hit many segments.
    const document = JSON.parse(lines[(number * 7919) % lines.length]!) as { id: unknown; title?: string }
    const word = `updated${number}x`
    const body = JSON.stringify({ ...document, title: `${document.title ?? ''} ${word}` })
    const began = performance.now()
    times.push(await finished((await put('', body, 'application/json')).taskUid, began))
    const found = await call<{ hits: { id: unknown }[] }>(
      'POST',
      `/indexes/${INDEX}/search`,
      JSON.stringify({ q: `"${word}"`, limit: 1 }),
    )
    missing += found.hits[0]?.id === document.id ? 0 : 1
  }
  const shown = (part: readonly number[]) =>
    Object.fromEntries(Object.entries(percentiles(part)).map(([name, ms]) => [name, `${ms.toFixed(1)} ms`]))
  console.log({
    updates: count,
    notFoundAtOnce: missing,
    first100: shown(times.slice(0, 100)),
    last100: shown(times.slice(-100)),
    all: shown(times),
    segments: await segments(),
    disk: megabytes(await bytesOnDisk(data)),
    anonymous: megabytes((await memoryKib(pid, 'RssAnon')) * 1024),
  })
}

try {
  while (!(await fetch(`${url}/health`).catch(() => null))?.ok) await new Promise((r) => setTimeout(r, 50))
  if (values.from === undefined) await load()
  if (Number(values.updates) > 0) await update(Number(values.updates))
} finally {
  child.kill('SIGKILL')
  await rm(directory, { recursive: true, force: true })
}
