/**
 * Measures the corpus over HTTP, against a daemon in a separate process.
 *
 * Measures the time from the POST of the documents until a search finds them, then sends the same requests over one and
 * over eight connections. No answer is cached, except for `eightConnectionsKept`.
 */
import { spawn, spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BenchRequest, benchSettings, type Corpus } from './corpus.js'
import { client, startDaemon, untilFinished } from './daemon.js'
import { diskParts } from './disk-parts.js'
import { bytesOnDisk, type Percentiles, percentiles, watchMemory } from './measure.js'
import type { DiskPart } from './report/figures.js'

export interface LoadResult extends Percentiles {
  readonly perSecond: number
  /** Milliseconds of each search. */
  readonly times: readonly number[]
}

export interface HttpTrialResult {
  readonly toSearchableMs: number
  readonly diskBytes: number
  readonly diskParts: readonly DiskPart[]
  readonly peakAnonymousBytes: number
  readonly peakResidentBytes: number
  /** fsync and fdatasync calls of a one-document task; null if strace is not installed. */
  readonly syncsPerCommit: number | null
  readonly fiftyTasksMs: number
  readonly oneConnection: LoadResult
  readonly eightConnections: LoadResult
  /** Eight connections, with every answer in the cache. */
  readonly eightConnectionsKept: LoadResult
}

/** Sends every request once, over `connections` connections. */
async function load(
  port: number,
  requests: readonly BenchRequest[],
  connections: number,
): Promise<LoadResult> {
  const call = client(port, connections)
  const times: number[] = []
  let next = 0
  const started = performance.now()
  await Promise.all(
    Array.from({ length: connections }, async () => {
      for (let request = requests[next++]; request; request = requests[next++]) {
        const asked = performance.now()
        const { status, text } = await call('POST', '/indexes/films/search', JSON.stringify(request.body))
        if (status !== 200) throw new Error(text)
        times.push(performance.now() - asked)
      }
    }),
  )
  const seconds = (performance.now() - started) / 1000
  return { ...percentiles(times), perSecond: requests.length / seconds, times }
}

/** Measures requests whose answers are all cached. */
async function loadCached(
  engine: string,
  data: string,
  requests: readonly BenchRequest[],
): Promise<LoadResult> {
  const { port, child } = await startDaemon(engine, data, ['--answer-cache-size', '1GiB'])
  try {
    await load(port, requests, 1)
    return await load(port, requests, 8)
  } finally {
    child.kill('SIGKILL')
  }
}

/** Counts the syncs that `work` causes in the process `pid`, with strace. */
async function countSyncs(pid: number, work: () => Promise<void>): Promise<number | null> {
  if (spawnSync('strace', ['-V']).error) return null
  const output = join(await mkdtemp(join(tmpdir(), 'siftd-strace-')), 'calls')
  const tracer = spawn(
    'strace',
    ['-f', '-p', String(pid), '-e', 'trace=fsync,fdatasync,msync', '-o', output],
    { stdio: 'ignore' },
  )
  await new Promise((resolve) => setTimeout(resolve, 700))
  await work()
  await new Promise((resolve) => setTimeout(resolve, 200))
  tracer.kill('SIGINT')
  await new Promise((resolve) => tracer.once('exit', resolve))
  const calls = await readFile(output, 'utf8')
  await rm(output, { force: true })
  return calls.split('\n').filter((line) => /(fsync|fdatasync|msync)\(/.test(line)).length
}

/** Runs the HTTP trial on an empty directory. */
export async function httpTrial(
  engine: string,
  corpus: Corpus,
  requests: readonly BenchRequest[],
): Promise<HttpTrialResult> {
  const directory = await mkdtemp(join(tmpdir(), 'siftd-bench-'))
  const data = join(directory, 'data')
  const { port, child, pid } = await startDaemon(engine, data, ['--answer-cache-size', '0'])
  try {
    const call = client(port, 1)
    await untilFinished(
      call,
      await call('POST', '/indexes', JSON.stringify({ uid: 'films', primaryKey: 'id' })),
    )
    await untilFinished(call, await call('PATCH', '/indexes/films/settings', JSON.stringify(benchSettings)))
    const stopWatching = watchMemory(pid)
    const posted = performance.now()
    await untilFinished(
      call,
      await call('POST', '/indexes/films/documents', corpus.bytes, 'application/x-ndjson'),
    )
    await call('POST', '/indexes/films/search', JSON.stringify({ q: corpus.films[0]?.title }))
    const toSearchableMs = performance.now() - posted
    const memory = await stopWatching()
    const diskBytes = await bytesOnDisk(data)
    const parts = await diskParts(data)
    const oneConnection = await load(port, requests, 1)
    const eightConnections = await load(port, requests, 8)
    const one = (id: number) => JSON.stringify([{ id, title: `A small update, number ${id}` }])
    const fiftyStarted = performance.now()
    for (let id = 1; id <= 50; id++)
      await untilFinished(call, await call('POST', '/indexes/films/documents', one(id)))
    const fiftyTasksMs = performance.now() - fiftyStarted
    const syncsPerCommit = await countSyncs(pid, async () => {
      await untilFinished(call, await call('POST', '/indexes/films/documents', one(51)))
    })
    child.kill('SIGTERM')
    await new Promise((resolve) => child.once('exit', resolve))
    return {
      toSearchableMs,
      diskBytes,
      diskParts: parts,
      peakAnonymousBytes: memory.anonymous,
      peakResidentBytes: memory.resident,
      syncsPerCommit,
      fiftyTasksMs,
      oneConnection,
      eightConnections,
      eightConnectionsKept: await loadCached(engine, data, requests),
    }
  } finally {
    child.kill('SIGKILL')
    await rm(directory, { recursive: true, force: true, maxRetries: 5 })
  }
}
