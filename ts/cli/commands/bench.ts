import { readFileSync } from 'node:fs'
import { LaunchError } from '../../launch/index.js'
import type { Peer } from '../../transfer/index.js'
import { countFor, defineCommand, examples } from '../command/index.js'
import { jsonOf } from './json-argument.js'
import { onServer, withServer } from './service.js'
import { pathOf } from './task-output.js'

const SEARCHES = 500
const CONCURRENCY = 4
/** Documents that provide queries if no file of queries is given. */
const SAMPLED_DOCUMENTS = 200

export const bench = defineCommand('bench', (command, output) =>
  onServer(command)
    .description(`Measures how fast a running server answers searches, as seen by its clients.

Searches for the lines of --queries, or for words of the documents, --searches times. Prints the median time of an answer
(p50), the time within which 99 of 100 answers arrived (p99), and the searches per second. The exit code is 1 if a search
failed.`)
    .argument('<index>', 'The uid of the index')
    .option('--queries <file>', 'Queries, one per line')
    .option('--searches <n>', `Number of searches (default: ${SEARCHES})`, countFor('--searches'))
    .option('--concurrency <n>', `Concurrent searches (default: ${CONCURRENCY})`, countFor('--concurrency'))
    .option('--json', 'Prints the figures as one JSON object')
    .addHelpText(
      'after',
      examples(`
        siftd bench films
        siftd bench films --queries queries.txt --searches 5000 --concurrency 16 --json`),
    )
    .action(async (index, options) => {
      const { searches = SEARCHES, concurrency = CONCURRENCY } = options
      if (searches === 0 || concurrency === 0)
        throw new LaunchError('bench: --searches and --concurrency must be at least 1', 2)
      const figures = await withServer(options, async (peer) => {
        const queries = options.queries === undefined ? await sampled(peer, index) : linesOf(options.queries)
        if (queries.length === 0) throw new LaunchError('bench: there is nothing to search for', 1)
        const search = (at: number) => searchOnce(peer, index, queries[at % queries.length]!)
        // The first searches open connections and fill caches.
        for (let at = 0; at < concurrency; at++) await search(at)
        return measured(search, searches, concurrency, (finished) =>
          output.progress('searching', finished, searches),
        )
      })
      const { p50Ms, p99Ms, perSecond } = figures
      output.line(
        options.json
          ? JSON.stringify({ index, searches, concurrency, ...figures })
          : `${searches} searches, ${concurrency} at a time: p50 ${p50Ms} ms, p99 ${p99Ms} ms, ${perSecond} a second`,
      )
    }),
)

interface Figures {
  readonly p50Ms: number
  readonly p99Ms: number
  readonly perSecond: number
}

async function measured(
  search: (at: number) => Promise<void>,
  searches: number,
  concurrency: number,
  finished: (count: number) => void,
): Promise<Figures> {
  const times: number[] = []
  let next = 0
  const startedAt = performance.now()
  const lane = async (): Promise<void> => {
    while (next < searches) {
      const at = next++
      const before = performance.now()
      await search(at)
      times.push(performance.now() - before)
      finished(times.length)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, lane))
  const seconds = (performance.now() - startedAt) / 1000
  times.sort((a, b) => a - b)
  const within = (share: number): number =>
    rounded(times[Math.min(times.length - 1, Math.floor(share * times.length))]!)
  return { p50Ms: within(0.5), p99Ms: within(0.99), perSecond: Math.round(searches / seconds) }
}

const rounded = (ms: number): number => Math.round(ms * 100) / 100

async function searchOnce(peer: Peer, index: string, q: string): Promise<void> {
  await peer.bytes('POST', `${pathOf(index)}/search`, { body: { q } })
}

/** Returns queries from the first documents: the first two words of their texts. */
async function sampled(peer: Peer, index: string): Promise<readonly string[]> {
  const body = { limit: SAMPLED_DOCUMENTS }
  const bytes = await peer.bytes('POST', `${pathOf(index)}/documents/fetch`, { body, isRepeatable: true })
  const { answer } = jsonOf<{ readonly results: readonly Readonly<Record<string, unknown>>[] }>(
    bytes,
    'results',
  )
  return answer.results.flatMap((document) =>
    Object.values(document)
      .filter((value) => typeof value === 'string')
      .slice(0, 2)
      .map((text) => text.split(/\s+/, 2).join(' '))
      .filter((query) => query !== ''),
  )
}

function linesOf(path: string): readonly string[] {
  try {
    const text = readFileSync(path === '-' ? process.stdin.fd : path, 'utf8')
    return text.split('\n').filter((line) => line.trim() !== '')
  } catch (error) {
    throw new LaunchError(`--queries: ${path} cannot be read: ${(error as NodeJS.ErrnoException).code}`, 2)
  }
}
