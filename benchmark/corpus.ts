/** Reads the films of a benchmark and generates typical requests for them. */
import { readFile } from 'node:fs/promises'
import { gunzipSync } from 'node:zlib'

export interface Film {
  readonly id: number
  readonly title: string
  readonly year?: number
  readonly cast?: readonly string[]
  readonly genres?: readonly string[]
  readonly overview?: string
}

/** A search of a workload, as a client POSTs it. */
export interface BenchRequest {
  readonly workload: string
  readonly body: Readonly<Record<string, unknown>>
}

export interface Corpus {
  readonly name: string
  /** Uncompressed NDJSON. */
  readonly bytes: Buffer
  readonly films: readonly Film[]
}

/** Reads NDJSON, decompressed if the name ends in `.gz`. @throws Error if the file does not exist */
export async function readCorpus(path: string): Promise<Corpus> {
  const raw = await readFile(path)
  const bytes = path.endsWith('.gz') ? gunzipSync(raw) : raw
  const films = bytes
    .toString()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Film)
  return { name: `films-${Math.round(films.length / 1000)}k`, bytes, films }
}

/** Settings of every trial, with the attributes that the workloads filter and sort by. */
export const benchSettings = {
  filterableAttributes: ['genres', 'year', 'cast'],
  sortableAttributes: ['year', 'title'],
}

/** Deterministic 32-bit generator (mulberry32): the same requests on every machine. */
export function generator(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

/**
 * Generates requests from titles and texts of the corpus.
 * @param perWorkload number of requests per workload
 */
export function requestsFrom(films: readonly Film[], perWorkload: number): readonly BenchRequest[] {
  const random = generator(20_26)
  const titled = films.filter((film) => film.title.length > 3)
  const described = titled.filter((film) => (film.overview ?? '').length > 80)
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!
  const words = (text: string) => text.split(/[^\p{L}\p{N}']+/u).filter((word) => word.length > 2)
  const swapped = (word: string) => {
    const at = 1 + Math.floor(random() * Math.max(1, word.length - 2))
    return word.slice(0, at) + (word[at + 1] ?? '') + (word[at] ?? '') + word.slice(at + 2)
  }
  const workloads: Readonly<Record<string, () => Record<string, unknown>>> = {
    title: () => ({ q: pick(titled).title }),
    'title prefix': () => {
      const { title } = pick(titled)
      return { q: title.slice(0, Math.max(2, Math.ceil(title.length * 0.6))) }
    },
    'title with a typo': () => {
      const parts = words(pick(titled).title)
      return { q: parts.map((word) => (word.length > 5 ? swapped(word) : word)).join(' ') }
    },
    'two words of a text': () => {
      const parts = words(pick(described).overview ?? '')
      return { q: `${pick(parts)} ${pick(parts)}` }
    },
    'one or two letters': () => ({ q: pick(titled).title.slice(0, 1 + Math.floor(random() * 2)) }),
    'filter, facets, highlight, crop': () => {
      const film = pick(described)
      return {
        q: pick(words(film.overview ?? '')),
        filter: `year >= ${(film.year ?? 1980) - 10}`,
        facets: ['genres', 'year'],
        attributesToHighlight: ['title', 'overview'],
        attributesToCrop: ['overview'],
      }
    },
    'no words, sorted': () => ({
      q: '',
      sort: ['year:desc', 'title:asc'],
      filter: `year > ${1900 + Math.floor(random() * 120)}`,
    }),
  }
  return Object.entries(workloads).flatMap(([workload, make]) =>
    Array.from({ length: perWorkload }, () => ({ workload, body: make() })),
  )
}
