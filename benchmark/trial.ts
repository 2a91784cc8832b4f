/**
 * Runs one trial in a fresh process: `node trial.js <engine> <documents> <requests per workload>`.
 *
 * Opens an engine with an empty directory, indexes the corpus in-process, then runs every request in-process. Prints a
 * line of JSON (`TrialResult`) and exits.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { completeRequest } from '../__test__/support/engine.js'
import { encodeRequest } from '../ts/engine/encoding.js'
import { openEngine } from '../ts/engine/select.js'
import { defaultIndexSettings } from '../ts/settings/index.js'
import { benchSettings, readCorpus, requestsFrom } from './corpus.js'
import { bytesOnDisk, type Percentiles, percentiles, watchMemory } from './measure.js'

export interface TrialResult {
  readonly engine: string
  readonly indexMs: number
  readonly diskBytes: number
  readonly peakAnonymousBytes: number
  readonly peakResidentBytes: number
  readonly searches: Readonly<Record<string, Percentiles>>
  /** Milliseconds of each search, by workload. */
  readonly times: Readonly<Record<string, readonly number[]>>
  /** Ids of the page and total for each request, in order. They must be the same for both engines. */
  readonly answers: readonly { readonly ids: readonly unknown[]; readonly total: number }[]
}

const silent = { info() {}, warn() {}, error: console.error, debug() {} }

async function trial(
  choice: 'native' | 'fallback',
  documents: string,
  perWorkload: number,
): Promise<TrialResult> {
  const corpus = await readCorpus(documents)
  const requests = requestsFrom(corpus.films, perWorkload)
  const directory = await mkdtemp(join(tmpdir(), 'siftd-bench-'))
  const spool = join(directory, 'films.ndjson')
  await writeFile(spool, corpus.bytes)
  const { engine } = await openEngine(choice, {
    directory: join(directory, 'indexes'),
    log: silent,
    indexingMemoryBytes: 512e6,
    indexingThreads: 1,
  })
  const index = '00000000-0000-4000-8000-000000000001'
  const stopWatching = watchMemory(process.pid)
  const started = performance.now()
  const prepared = await engine.prepare(index, {
    uid: 0,
    indexUid: 'films',
    operations: [
      {
        taskUid: 0,
        kind: 'settings',
        settings: JSON.stringify({ ...defaultIndexSettings, ...benchSettings }),
      },
      {
        taskUid: 1,
        kind: 'documents',
        method: 'replace',
        payload: { path: spool, format: 'ndjson' },
        primaryKey: 'id',
        skipCreation: false,
      },
    ],
  })
  const report = await engine.commit(prepared, [])
  const indexMs = performance.now() - started
  if (report.documents !== corpus.films.length) throw new Error(`${report.documents} documents indexed`)
  const memory = await stopWatching()
  const diskBytes = await bytesOnDisk(join(directory, 'indexes'))

  const times = new Map<string, number[]>()
  const answers: { ids: unknown[]; total: number }[] = []
  for (const { workload, body } of requests) {
    const request = encodeRequest(completeRequest(body))
    const asked = performance.now()
    const { body: answer } = await engine.search(index, request)
    const took = performance.now() - asked
    times.set(workload, [...(times.get(workload) ?? []), took])
    const { hits, estimatedTotalHits } = JSON.parse(new TextDecoder().decode(answer)) as {
      hits: { id: unknown }[]
      estimatedTotalHits: number
    }
    answers.push({ ids: hits.map((hit) => hit.id), total: estimatedTotalHits })
  }
  await engine.close()
  await rm(directory, { recursive: true, force: true })
  return {
    engine: choice,
    indexMs,
    diskBytes,
    peakAnonymousBytes: memory.anonymous,
    peakResidentBytes: memory.resident,
    searches: Object.fromEntries([...times].map(([workload, list]) => [workload, percentiles(list)])),
    times: Object.fromEntries(times),
    answers,
  }
}

const [choice, documents, perWorkload] = process.argv.slice(2)
if ((choice !== 'native' && choice !== 'fallback') || !documents)
  throw new Error('usage: trial.js native|fallback DOCUMENTS [REQUESTS]')
console.log(JSON.stringify(await trial(choice, documents, Number(perWorkload ?? 50))))
process.exit(0)
