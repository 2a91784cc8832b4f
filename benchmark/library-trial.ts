/**
 * Measures one library with the films, in a fresh process: `node library-trial.js LIBRARY DOCUMENTS TITLES FOLDER`.
 *
 * Indexes the films, searches for correct and misspelt titles, and prints a line of JSON (`LibraryFigures`). FOLDER
 * contains the installed alternative libraries.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { open } from '../ts/index.js'
import { type Film, readCorpus } from './corpus.js'
import { memoryKib } from './measure.js'
import { type TitleQuery, titleQueries } from './misspelt.js'
import type { LibraryFigures, TitleSearches } from './report/figures.js'

const LIMIT = 10
/** Attributes that all libraries search, the most relevant first. */
const ATTRIBUTES = ['title', 'cast', 'genres', 'overview']
/** Searches before the measurement, so that V8 has compiled the code. */
const WARM_UP_SEARCHES = 20

interface Library {
  readonly title: string
  readonly setup: string
  index(films: readonly Film[]): Promise<unknown>
  search(q: string): Promise<readonly unknown[]>
  close(): Promise<void>
}

async function siftd(engine: 'native' | 'fallback', directory: string): Promise<Library> {
  const instance = await open({ directory, engine, answerCacheSize: 0, logLevel: 'ERROR' })
  const index = instance.index('films')
  const done = async (task: Promise<{ taskUid: number }>) => instance.waitForTask((await task).taskUid)
  return {
    title: `siftd, ${engine}`,
    setup: 'defaults; one indexing thread; the index is durable on disk when indexing ends',
    async index(films) {
      await done(index.updateSettings({ searchableAttributes: ATTRIBUTES }))
      const { status, error } = await done(
        index.addDocuments(
          films.map((film) => ({ ...film })),
          { primaryKey: 'id' },
        ),
      )
      if (status !== 'succeeded') throw new Error(JSON.stringify(error))
    },
    async search(q) {
      const { hits } = await index.search(q, { limit: LIMIT, attributesToRetrieve: ['id'] })
      return hits.map((hit) => hit.id)
    },
    close: () => instance.close(),
  }
}

const versionOf = async (folder: string, name: string): Promise<string> =>
  JSON.parse(await readFile(join(folder, 'node_modules', name, 'package.json'), 'utf8')).version

/** Part of the MiniSearch API that this trial uses. */
interface MiniSearchIndex {
  addAll(documents: readonly object[]): void
  search(q: string): readonly { readonly id: unknown }[]
}

async function miniSearch(folder: string): Promise<Library> {
  const load = createRequire(join(folder, 'package.json'))
  const MiniSearch = load('minisearch') as new (options: object) => MiniSearchIndex
  const index = new MiniSearch({
    fields: ATTRIBUTES,
    searchOptions: {
      prefix: (_term: string, at: number, terms: readonly string[]) => at === terms.length - 1,
      fuzzy: (term: string) => (term.length > 8 ? 2 : term.length > 4 ? 1 : false),
      boost: { title: 3 },
    },
  })
  return {
    title: `MiniSearch ${await versionOf(folder, 'minisearch')}`,
    setup: 'as many typos as siftd allows, the last word as a prefix, title boosted by 3; only in memory',
    async index(films) {
      index.addAll(films)
    },
    search: async (q) =>
      index
        .search(q)
        .slice(0, LIMIT)
        .map(({ id }) => id),
    async close() {},
  }
}

/** Part of the Orama API that this trial uses. */
interface OramaLibrary {
  create(options: object): unknown
  insertMultiple(index: unknown, documents: readonly object[], batch: number): unknown
  search(index: unknown, query: object): Promise<{ hits: readonly { id: string }[] }>
}

async function orama(folder: string): Promise<Library> {
  const load = createRequire(join(folder, 'package.json'))
  const { create, insertMultiple, search } = load('@orama/orama') as OramaLibrary
  const options = { properties: ATTRIBUTES, tolerance: 1, threshold: 0, boost: { title: 3 }, limit: LIMIT }
  const index = await create({
    schema: { title: 'string', cast: 'string[]', genres: 'string[]', overview: 'string' },
  })
  return {
    title: `Orama ${await versionOf(folder, '@orama/orama')}`,
    setup:
      'tolerance 1, all words required (threshold 0), default prefixes, title boosted by 3; only in memory',
    async index(films) {
      const documents = films.map((film) => ({ ...film, id: String(film.id) }))
      await insertMultiple(index, documents, 500)
    },
    async search(q) {
      // Best of thresholds 0 to 1, boosts 3 and 10, tolerances 1 and 2: most films found in the least time.
      const query = { ...options, term: q }
      return (await search(index, query)).hits.map(({ id }) => Number(id))
    },
    async close() {},
  }
}

async function trial(
  name: LibraryFigures['library'],
  library: Library,
  films: readonly Film[],
  queries: readonly TitleQuery[],
): Promise<LibraryFigures> {
  const began = performance.now()
  await library.index(films)
  const indexMs = performance.now() - began
  // Titles that are not searched later.
  for (const { title } of films.slice(0, WARM_UP_SEARCHES)) await library.search(title)
  const searches: Record<string, TitleSearches> = {}
  for (const spelling of new Set(queries.map((query) => query.spelling))) {
    const times: number[] = []
    let found = 0
    for (const { q, id } of queries.filter((query) => query.spelling === spelling)) {
      const asked = performance.now()
      const ids = await library.search(q)
      times.push(performance.now() - asked)
      found += ids.includes(id) ? 1 : 0
    }
    searches[spelling] = { times, found }
  }
  const peakResidentBytes = 1024 * (await memoryKib(process.pid, 'VmHWM'))
  await library.close()
  return { library: name, title: library.title, setup: library.setup, indexMs, peakResidentBytes, searches }
}

const [name = '', documents = '', titles = '', folder = ''] = process.argv.slice(2)
const directory = await mkdtemp(join(tmpdir(), 'siftd-library-'))
try {
  const opened: Readonly<Record<string, () => Promise<Library>>> = {
    native: () => siftd('native', directory),
    fallback: () => siftd('fallback', directory),
    minisearch: () => miniSearch(folder),
    orama: () => orama(folder),
  }
  const { films } = await readCorpus(documents)
  const openLibrary = opened[name]
  if (openLibrary === undefined) throw new Error(`unknown library ${name}`)
  const figures = await trial(
    name as LibraryFigures['library'],
    await openLibrary(),
    films,
    titleQueries(films.slice(WARM_UP_SEARCHES), Number(titles)),
  )
  console.log(JSON.stringify(figures))
} finally {
  await rm(directory, { recursive: true, force: true, maxRetries: 5 })
}
process.exit(0)
