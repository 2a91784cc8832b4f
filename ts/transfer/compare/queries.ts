import { LaunchError } from '../../launch/index.js'

/** A search to run on both sides. */
export interface Query {
  /** The line of the file, from 1. */
  readonly line: number
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body: Readonly<Record<string, unknown>> | null
}

export interface QueryFile {
  readonly queries: readonly Query[]
  /** Number of recorded requests that are not searches. */
  readonly skipped: number
}

type Line = Readonly<Record<string, unknown>>

/**
 * Parses a file with one search per line: a search body with `indexUid`, or a recorded request with `method`,
 * `path` and `body`.
 * @param limit most searches to read
 * @throws LaunchError with exit code 2 that names the line
 */
export function readQueries(text: string, limit: number): QueryFile {
  const queries: Query[] = []
  let skipped = 0
  for (const [at, content] of text.split('\n').entries()) {
    if (content.trim() === '') continue
    if (queries.length >= limit) break
    const query = readQuery(content, at + 1)
    if (query === null) skipped += 1
    else queries.push(query)
  }
  return { queries, skipped }
}

function readQuery(text: string, line: number): Query | null {
  const found = objectIn(text)
  if (found === null) throw new LaunchError(`line ${line} is not a JSON object`, 2)
  const { indexUid, ...body } = found
  if (typeof found.path === 'string') return recorded(found, found.path, line)
  if (typeof indexUid !== 'string')
    throw new LaunchError(`line ${line} has neither \`indexUid\` nor \`path\``, 2)
  return { line, method: 'POST', path: `/indexes/${encodeURIComponent(indexUid)}/search`, body }
}

/** Returns the search of a recorded request; null if it is not a search. */
function recorded({ method = 'POST', body = null }: Line, path: string, line: number): Query | null {
  const [route = '', parameters] = path.split('?', 2)
  const isMulti = route === '/multi-search'
  if (!isMulti && searchedIndex(route) === null) return null
  if (method === 'GET' && !isMulti) return { line, method, path, body: null }
  const read = typeof body === 'string' ? objectIn(body) : body
  const isObject = typeof read === 'object' && read !== null && !Array.isArray(read)
  if (method !== 'POST' || !isObject || parameters !== undefined) return null
  return { line, method, path, body: read as Line }
}

/** Returns the uid in `/indexes/{uid}/search`; null for other paths, and for a malformed uid. */
export function searchedIndex(path: string): string | null {
  const [before, indexes, uid, search, ...more] = path.split('?', 1)[0]?.split('/') ?? []
  const isSearch = before === '' && indexes === 'indexes' && search === 'search' && more.length === 0
  return isSearch && uid !== undefined ? decodedPart(uid) : null
}

function decodedPart(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

function objectIn(text: string): Line | null {
  try {
    const found: unknown = JSON.parse(text)
    return typeof found === 'object' && found !== null && !Array.isArray(found) ? (found as Line) : null
  } catch {
    return null
  }
}

/** Returns the search with scores of the hits enabled. */
export function withScores(query: Query): Query {
  const { body, path } = query
  if (body === null) {
    const separator = path.includes('?') ? '&' : '?'
    return { ...query, path: `${path}${separator}showRankingScore=true` }
  }
  if (!Array.isArray(body.queries)) return { ...query, body: { ...body, showRankingScore: true } }
  const queries = body.queries.map((one: object) => ({ ...one, showRankingScore: true }))
  return { ...query, body: { ...body, queries } }
}
