/**
 * npm run bench:embedding -- [native|fallback] [--save]: embeds documents with a provider that answers after 50 ms.
 *
 * 1. Compares the time of embedding with the minimum for this latency and number of concurrent requests.
 * 2. Kills and restarts the daemon half-way, and counts the texts that the provider receives twice.
 */
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { client, startDaemon, untilFinished } from './daemon.js'
import { saveRun } from './results.js'

const DOCUMENTS = 10_000
const LATENCY_MS = 50
const DIMENSIONS = 384
/** Source: vectors §5.1. */
const [TEXTS_PER_REQUEST, REQUESTS_AT_ONCE] = [10, 40]
const PERMITTED_MS = Math.ceil(DOCUMENTS / TEXTS_PER_REQUEST / REQUESTS_AT_ONCE) * LATENCY_MS

const args = process.argv.slice(2)
const engine = args.includes('fallback') ? 'fallback' : 'native'

/** Vectors as JSON, generated before the measurement. */
const vectors = Array.from({ length: 64 }, (_, seed) =>
  JSON.stringify(
    Array.from({ length: DIMENSIONS }, (_, at) => Math.sin(seed * 1000 + at).toFixed(7)).map(Number),
  ),
)

let texts: string[] = []
/** Callback for when the provider has received this many texts. */
let reached: { readonly texts: number; readonly tell: () => void } | null = null
const provider = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const { input } = JSON.parse(Buffer.concat(chunks).toString()) as { input: string[] }
    texts.push(...input)
    if (reached !== null && texts.length >= reached.texts) reached.tell()
    const data = input.map((text) => `{"embedding":${vectors[text.length % vectors.length]}}`)
    setTimeout(() => response.end(`{"data":[${data.join(',')}]}`), LATENCY_MS)
  })
})
await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve))
const url = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`

const g = {
  source: 'rest',
  url,
  dimensions: DIMENSIONS,
  request: { input: ['{{text}}', '{{..}}'] },
  response: { data: [{ embedding: '{{embedding}}' }, '{{..}}'] },
  documentTemplate: 'A film called {{doc.title}}: {{doc.text}}',
}
const documents = Array.from({ length: DOCUMENTS }, (_, id) =>
  JSON.stringify({
    id,
    title: `Film ${id}`,
    text: `what happens in film ${id} takes a sentence or two to tell`,
  }),
).join('\n')

const directory = await mkdtemp(join(tmpdir(), 'siftd-embedding-'))
try {
  const { embeddingMs, wholeMs, usedMs } = await measured(join(directory, 'timed'))
  const again = await killed(join(directory, 'killed'))
  const figures = {
    'embedding, by the trace of its batch': `${embeddingMs.toFixed(0)} ms`,
    'from the request to searchable': `${wholeMs.toFixed(0)} ms`,
    'processor time of the daemon meanwhile': `${usedMs} ms`,
    'texts sent twice after a kill half-way': String(again),
  }
  const aims = [`${PERMITTED_MS} ms permitted, 20 % more aimed at`, '', '', 'fewer than 400']
  console.log(engine, figures, aims[0])
  if (args.includes('--save')) {
    await saveRun(
      'embedding',
      Object.entries(figures).map(([label, value], at) => ({
        table: `${DOCUMENTS} documents, a provider with ${LATENCY_MS} ms`,
        label,
        measured: { [engine]: value },
        beside: { aim: aims[at] ?? '' },
      })),
    )
  }
} finally {
  provider.closeAllConnections()
  provider.close()
  await rm(directory, { recursive: true, force: true })
}

async function ready(data: string) {
  const daemon = await startDaemon(engine, data, ['--experimental-allowed-ip-networks', '127.0.0.0/8'])
  return { ...daemon, call: client(daemon.port, 2) }
}

async function measured(data: string) {
  const { child, call, pid } = await ready(data)
  try {
    await untilFinished(call, await call('PATCH', '/indexes/films/settings/embedders', JSON.stringify({ g })))
    const cpuBefore = cpuMs(pid)
    const began = performance.now()
    const sent = await call('POST', '/indexes/films/documents', documents, 'application/x-ndjson')
    await untilFinished(call, sent)
    const wholeMs = performance.now() - began
    const { results } = JSON.parse((await call('GET', '/batches?limit=1')).text) as {
      results: readonly { readonly stats: { readonly progressTrace: Readonly<Record<string, string>> } }[]
    }
    const embeddingMs = Number.parseFloat(
      results[0]?.stats.progressTrace['processing tasks > embedding'] ?? '',
    )
    return { embeddingMs, wholeMs, usedMs: cpuMs(pid) - cpuBefore }
  } finally {
    child.kill('SIGKILL')
  }
}

/** @returns the number of texts that the provider received twice */
async function killed(data: string): Promise<number> {
  texts = []
  const first = await ready(data)
  const { call } = first
  await untilFinished(call, await call('PATCH', '/indexes/films/settings/embedders', JSON.stringify({ g })))
  const halfWay = new Promise<void>((resolve) => {
    reached = { texts: DOCUMENTS / 2, tell: resolve }
  })
  await call('POST', '/indexes/films/documents', documents, 'application/x-ndjson')
  await halfWay
  reached = null
  const gone = new Promise((resolve) => first.child.once('exit', resolve))
  first.child.kill('SIGKILL')
  await gone
  const second = await ready(data)
  try {
    await untilFinished(second.call, { status: 202, text: '{"taskUid":1}' })
    return texts.length - DOCUMENTS
  } finally {
    second.child.kill('SIGKILL')
  }
}

/** Returns the processor time of a process in milliseconds, all threads; NaN if the system does not report it. */
function cpuMs(pid: number): number {
  if (process.platform !== 'linux') return Number.NaN
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * 10
}
