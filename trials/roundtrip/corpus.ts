/** The documents, settings and searches of the trial, read from a folder or generated. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { numbers } from '../../__test__/support/numbers.js'

/** An index and its documents, split into uploads. */
export interface FilledIndex {
  readonly uid: string
  readonly primaryKey: string
  readonly settings: object
  /** NDJSON. */
  readonly uploads: () => Iterable<string>
}

export interface Search {
  readonly index: string
  readonly body: Readonly<Record<string, unknown>>
  /** True for a vector search over so many vectors that the native engine searches approximately. */
  readonly isApproximate?: boolean
}

export interface Corpus {
  readonly indexes: readonly FilledIndex[]
  readonly searches: readonly Search[]
}

type Document = Readonly<Record<string, unknown>>

const UPLOAD_LINES = 20_000

/** Returns `count` evenly spaced members, so that every kind is included. */
function spread<T>(all: readonly T[], count: number): readonly T[] {
  const most = Math.min(count, all.length)
  return Array.from({ length: most }, (_, at) => all[Math.floor((at * all.length) / most)] as T)
}

/**
 * Reads a folder. If it has recorded searches (`golden-films.json.gz`), returns these and the indexes they name;
 * otherwise one index from its NDJSON, and searches generated from its documents.
 */
export async function corpusOf(folder: string, searchesMax: number): Promise<Corpus> {
  const names = await readdir(folder)
  const recorded = names.find((name) => name === 'golden-films.json.gz')
  if (recorded !== undefined) return recordedCorpus(folder, recorded, names, searchesMax)
  const name = names.find((one) => /\.ndjson(\.gz)?$/.test(one))
  if (name === undefined) throw new Error(`${folder} contains no .ndjson or .ndjson.gz file`)
  const films = await documentsIn(join(folder, name))
  const settings = {
    filterableAttributes: ['genres', 'year'],
    sortableAttributes: ['year', 'rating'],
    synonyms: { ship: ['vessel'] },
    stopWords: ['the'],
  }
  return {
    indexes: [filledIndex('films', 'id', settings, films)],
    searches: spread(films.flatMap(searchesFor), searchesMax).map((body) => ({ index: 'films', body })),
  }
}

interface Recorded {
  readonly indexes: Readonly<
    Record<string, { readonly dataset: string; readonly primaryKey: string; readonly settings: object }>
  >
  readonly queries: readonly { readonly index: string; readonly request: Document }[]
}

async function recordedCorpus(
  folder: string,
  recorded: string,
  names: readonly string[],
  searchesMax: number,
): Promise<Corpus> {
  const text = gunzipSync(await readFile(join(folder, recorded))).toString()
  const { indexes, queries } = JSON.parse(text) as Recorded
  const filled: FilledIndex[] = []
  for (const [uid, { dataset, primaryKey, settings }] of Object.entries(indexes)) {
    const name = names.find((one) => one.startsWith(`${dataset}.`))
    if (name !== undefined)
      filled.push(filledIndex(uid, primaryKey, settings, await documentsIn(join(folder, name))))
  }
  const asked = queries.filter(({ index }) => filled.some(({ uid }) => uid === index))
  return {
    indexes: filled,
    searches: spread(asked, searchesMax).map(({ index, request }) => ({ index, body: request })),
  }
}

async function documentsIn(path: string): Promise<readonly Document[]> {
  const raw = await readFile(path)
  const text = (path.endsWith('.gz') ? gunzipSync(raw) : raw).toString()
  if (/\.json(\.gz)?$/.test(path)) return JSON.parse(text) as readonly Document[]
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Document)
}

function filledIndex(
  uid: string,
  primaryKey: string,
  settings: object,
  documents: readonly Document[],
): FilledIndex {
  return {
    uid,
    primaryKey,
    settings,
    *uploads() {
      for (let at = 0; at < documents.length; at += UPLOAD_LINES)
        yield documents
          .slice(at, at + UPLOAD_LINES)
          .map((document) => JSON.stringify(document))
          .join('\n')
    },
  }
}

/** Searches for a film by its full title, a misspelt title, a prefix, and with all parts of an answer enabled. */
function searchesFor({ title, year }: Document): readonly Document[] {
  const words = String(title)
  const middle = Math.ceil(words.length / 2)
  const misspelt = `${words.slice(0, middle)}${words[middle + 1] ?? ''}${words[middle] ?? ''}${words.slice(middle + 2)}`
  return [
    { q: words, showRankingScoreDetails: true },
    { q: misspelt, limit: 5, showRankingScore: true },
    { q: words.slice(0, 4), facets: ['genres', 'year'], sort: ['year:desc'] },
    {
      q: words.split(' ').at(-1),
      filter: `year <= ${year}`,
      attributesToHighlight: ['*'],
      attributesToCrop: ['overview'],
      showMatchesPosition: true,
    },
  ]
}

/** Generates `count` random documents, and searches for their words. */
export function madeDocuments(count: number): Corpus {
  const words = Array.from({ length: 5_000 }, (_, at) => `w${((at * 2_654_435_761) >>> 0).toString(36)}`)
  const settings = { filterableAttributes: ['tag'], sortableAttributes: ['n'] }
  const uploads = function* (): Generator<string> {
    const random = numbers(31)
    const word = () => words[Math.floor(5_000 ** random()) - 1] ?? 'w'
    let lines: string[] = []
    for (let id = 0; id < count; id++) {
      const text = Array.from({ length: 3 + Math.floor(random() * 12) }, word).join(' ')
      lines.push(JSON.stringify({ id, text, tag: `t${id % 50}`, n: Math.floor(random() * 1e6) }))
      if (lines.length < UPLOAD_LINES && id + 1 < count) continue
      yield lines.join('\n')
      lines = []
    }
  }
  const searches = Array.from({ length: 20 }, (_, at) => ({
    index: 'made',
    body: {
      q: `${words[at]} ${words[at * 7 + 1]}`,
      filter: `tag != t${at}`,
      sort: ['n:asc'],
      facets: ['tag'],
      limit: 10,
    },
  }))
  return { indexes: [{ uid: 'made', primaryKey: 'id', settings, uploads }], searches }
}

/** `EXACT_MAX` of the native engine: with more vectors it searches approximately. */
const EXACT_MAX = 20_000
const DIMENSIONS = 64
const CENTRES = 200

/** Generates clustered vectors, like those of texts, and searches near some of them. */
export function madeVectors(count: number): Corpus {
  const random = numbers(97)
  const centres = Array.from({ length: CENTRES }, () =>
    Array.from({ length: DIMENSIONS }, () => random() * 2 - 1),
  )
  const near = (seed: number): readonly number[] => {
    const own = numbers(seed)
    const centre = centres[seed % CENTRES] ?? []
    return centre.map((value) => Math.round((value + own() - 0.5) * 1e4) / 1e4)
  }
  const uploads = function* (): Generator<string> {
    for (let at = 0; at < count; at += 5_000)
      yield Array.from({ length: Math.min(5_000, count - at) }, (_, nth) => {
        const id = at + nth
        // Every twentieth document has replaceable vectors, and another twentieth has none.
        const own =
          id % 20 === 7 ? { embeddings: near(id), regenerate: true } : id % 20 === 9 ? null : near(id)
        return JSON.stringify({ id, title: `vector ${id}`, _vectors: { own } })
      }).join('\n')
  }
  const settings = { embedders: { own: { source: 'userProvided', dimensions: DIMENSIONS } } }
  const searches = Array.from({ length: 20 }, (_, at) => ({
    index: 'vectors',
    body: {
      vector: near(count + at),
      hybrid: { embedder: 'own', semanticRatio: 1 },
      limit: 20,
      showRankingScore: true,
      attributesToRetrieve: ['id'],
    },
    isApproximate: count > EXACT_MAX,
  }))
  return { indexes: [{ uid: 'vectors', primaryKey: 'id', settings, uploads }], searches }
}

export const together = (...all: readonly Corpus[]): Corpus => ({
  indexes: all.flatMap(({ indexes }) => indexes),
  searches: all.flatMap(({ searches }) => searches),
})
