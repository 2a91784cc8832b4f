/** Here is a folder of documents: what is an instance filled with, and which searches is it asked? */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { numbers } from '../../__test__/support/numbers.js'

/** Documents of an index, in requests that are not too large. */
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
  /** A search by vector among so many that the native engine does not compare all of them. */
  readonly isApproximate?: boolean
}

export interface Corpus {
  readonly indexes: readonly FilledIndex[]
  readonly searches: readonly Search[]
}

type Document = Readonly<Record<string, unknown>>

const UPLOAD_LINES = 20_000

/** Evenly spaced members, so that each kind is among them. */
function spread<T>(all: readonly T[], count: number): readonly T[] {
  const most = Math.min(count, all.length)
  return Array.from({ length: most }, (_, at) => all[Math.floor((at * all.length) / most)] as T)
}

/**
 * The documents of a folder. With recorded searches in it (`golden-films.json.gz`), these and the indexes that they
 * name; otherwise one index of its NDJSON, and searches made of that.
 */
export async function corpusOf(folder: string, searchesMax: number): Promise<Corpus> {
  const names = await readdir(folder)
  const recorded = names.find((name) => name === 'golden-films.json.gz')
  if (recorded !== undefined) return recordedCorpus(folder, recorded, names, searchesMax)
  const name = names.find((one) => /\.ndjson(\.gz)?$/.test(one))
  if (name === undefined) throw new Error(`${folder} holds no file that ends in .ndjson or .ndjson.gz`)
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

/** Searches that find a film by its title: whole, misspelt, its beginning, and with everything an answer may have. */
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

/** Documents made from chance, as many as are asked for, and searches for their words. */
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

/** `EXACT_MAX` of the native engine: among more vectors than that, it does not compare all of them. */
const EXACT_MAX = 20_000
const DIMENSIONS = 64
const CENTRES = 200

/** Vectors around common centres, as those of texts are, and searches beside some of them. */
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
        // A document in twenty has vectors that a provider may replace, and one in twenty has none.
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
