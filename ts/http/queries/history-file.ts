/**
 * The file of one day of query statistics. Each line is JSON; a line that cannot be read, such as the last one before a
 * crash, is skipped:
 *
 *     line   = start | tally
 *     start  = {"since": ms, "searches": count}    searches whose queries are forgotten
 *     tally  = [indexUid, q, count, countWithoutHits, timed, sumMs, maxMs, lastAt, clicks?]
 *     clicks = [clicks, positionSum, documentId, …]
 *
 * Tallies of one query are added up.
 */
import { readFile, rename, writeFile } from 'node:fs/promises'
import { CLICKED_DOCUMENTS_MAX } from './limits.js'
import type { QueryStatistics, QueryTally } from './query-statistics.js'

/** Names of the files: `2026-11-27.ndjson` with queries, `2026-11-27.hashed.ndjson` with hashes instead. */
export const fileName = (day: string, isHashed: boolean): string =>
  `${day}${isHashed ? '.hashed' : ''}.ndjson`

/** Parses the name of a file; null for any other file. */
export function dayOfName(name: string): { readonly day: string; readonly isHashed: boolean } | null {
  const [, day, hashed] = /^(\d{4}-\d\d-\d\d)(\.hashed)?\.ndjson$/.exec(name) ?? []
  return day === undefined ? null : { day, isHashed: hashed !== undefined }
}

export const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

export const startLine = (since: number, searches: number): string =>
  `${JSON.stringify({ since, searches })}\n`

export const tallyLine = (tally: QueryTally): string =>
  `${JSON.stringify([
    ...[tally.indexUid, tally.q, tally.count, tally.countWithoutHits],
    ...[tally.timed, rounded(tally.sumMs), rounded(tally.maxMs), tally.lastAt],
    ...(tally.clicks > 0 ? [[tally.clicks, tally.positionSum, ...tally.clicked]] : []),
  ])}\n`

/** Adds the queries of a file to `statistics`. A file that does not exist has none. */
export async function readDay(path: string, statistics: QueryStatistics): Promise<void> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
  for (const line of text.split('\n')) includeLine(line, statistics)
}

/**
 * Replaces a file by one with the most important queries of `statistics`.
 * @param bytesMax size of the new file
 */
export async function rewriteDay(path: string, statistics: QueryStatistics, bytesMax: number): Promise<void> {
  const lines: string[] = []
  let [bytes, kept] = [0, 0]
  for (const tally of statistics.inTurn()) {
    const line = tallyLine(tally)
    bytes += Buffer.byteLength(line)
    if (bytes > bytesMax) break
    lines.push(line)
    kept += tally.count
  }
  const start = startLine(statistics.since, statistics.searches - kept)
  await writeFile(`${path}.new`, start + lines.join(''))
  await rename(`${path}.new`, path)
}

function includeLine(line: string, statistics: QueryStatistics): void {
  const value = parsed(line)
  if (Array.isArray(value)) {
    const tally = tallyFrom(value)
    if (tally !== null) statistics.include(tally)
  } else if (typeof value === 'object' && value !== null) {
    const { since, searches } = value as Readonly<Record<string, unknown>>
    if (isAmount(since) && isAmount(searches)) statistics.includeForgotten(searches, since)
  }
}

function parsed(line: string): unknown {
  try {
    return line === '' ? null : JSON.parse(line)
  } catch {
    return null
  }
}

function tallyFrom(values: readonly unknown[]): QueryTally | null {
  const [indexUid, q, ...amounts] = values
  if (typeof indexUid !== 'string' || typeof q !== 'string') return null
  const clicks = clicksFrom(amounts.length === 7 ? amounts.pop() : [0, 0])
  if (amounts.length !== 6 || !amounts.every(isAmount) || clicks === null) return null
  const [count, countWithoutHits, timed, sumMs, maxMs, lastAt] = amounts as [
    ...[number, number, number],
    ...[number, number, number],
  ]
  return { indexUid, q, count, countWithoutHits, timed, sumMs, maxMs, lastAt, ...clicks }
}

function clicksFrom(values: unknown): Pick<QueryTally, 'clicks' | 'positionSum' | 'clicked'> | null {
  if (!Array.isArray(values)) return null
  const [clicks, positionSum, ...clicked] = values as unknown[]
  if (!isAmount(clicks) || !isAmount(positionSum)) return null
  const areIds = clicked.length <= CLICKED_DOCUMENTS_MAX && clicked.every((id) => typeof id === 'string')
  return areIds ? { clicks, positionSum, clicked } : null
}

/** The largest date that JavaScript knows. Larger numbers would make a report fail. */
const AMOUNT_MAX = 8.64e15
const isAmount = (value: unknown): value is number =>
  typeof value === 'number' && value >= 0 && value <= AMOUNT_MAX

const rounded = (ms: number): number => Math.round(ms * 100) / 100
