/** A small index with every feature, and the answers that later versions must give. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PartialSettings, SearchBody, TestEngine } from '../support/engine.js'

export const INDEX = 'kept'

const settings: PartialSettings = {
  filterableAttributes: ['genre', 'year', 'studio.city', 'note', '_geo', '_geojson', 'long'],
  sortableAttributes: ['year', '_geo'],
  stopWords: ['of'],
  synonyms: { ship: ['vessel'] },
  embedders: { moods: { source: 'userProvided', dimensions: 2 } },
}

const films = [
  { id: 1, title: 'Winter of the Cranes', genre: ['drama'], year: 1971, studio: { city: 'Oslo' } },
  { id: 2, title: 'The Glass Vessel', genre: ['adventure', 'drama'], year: 1988, note: null },
  { id: 3, title: 'Harbour Lights', genre: [], year: 2003, _geo: { lat: 59.91, lng: 10.75 } },
  { id: 4, title: 'A Ship Called Wednesday', genre: ['comedy'], year: 2003, _geo: { lat: 48.86, lng: 2.35 } },
  { id: 'five', title: 'Über den Dächern', genre: 'comedy', year: 1999.5, long: 'roof '.repeat(120) },
  { id: 'shape', _geojson: { type: 'Point', coordinates: [10.5, 59.5] } },
]

/** Vectors of some films; the others have none. */
const moods: Readonly<Record<string, readonly number[]>> = { 1: [1, 0], 2: [0, 1] }
const withMoods = films.map((film) => ({ ...film, _vectors: { moods: moods[film.id] ?? null } }))

/** Searches, and the expected ids in order. */
export const questions: readonly (readonly [SearchBody, readonly unknown[]])[] = [
  [{ q: 'crane' }, [1]],
  [{ q: 'winter cranse' }, [1]],
  [{ q: 'ship' }, [4, 2]],
  [{ q: '"glass vessel"' }, [2]],
  [{ q: 'dachern' }, ['five']],
  [{ filter: 'genre = comedy', sort: ['year:asc'] }, ['five', 4]],
  [{ filter: 'year >= 2000 AND _geoRadius(48.86, 2.35, 1000)' }, [4]],
  [{ filter: 'studio.city = oslo' }, [1]],
  [{ filter: 'note IS NULL' }, [2]],
  [{ sort: ['_geoPoint(60, 10):asc'], limit: 2 }, [3, 4]],
  [{ q: 'gone' }, []],
  [{ vector: [0.1, 1], hybrid: { embedder: 'moods', semanticRatio: 1 }, limit: 2 }, [2, 1]],
  [{ filter: '_geoBoundingBox([60, 11], [59, 10])' }, [3, 'shape']],
]

/** Writes the index in several commits, including a deletion. */
export async function writeCorpus(engine: TestEngine): Promise<void> {
  const outcomes = [
    await engine.configure(INDEX, settings),
    await engine.put(INDEX, ...withMoods, {
      id: 'gone',
      _vectors: { moods: null },
      title: 'Gone before long',
    }),
    await engine.outcome(INDEX, { kind: 'deleteByIds', ids: ['gone'] }),
    await engine.put(INDEX, { ...withMoods[0], seen: true }),
  ]
  const failed = outcomes.filter(({ error }) => error !== undefined)
  if (failed.length > 0) throw new Error(JSON.stringify(failed))
}

/** Offset of the format in a commit file, u32 little endian, after the eight bytes of the magic. */
export const FORMAT_AT = 8

/** Format of an index. */
export const formatIn = (index: string): number => readFileSync(newestCommit(index)).readUInt32LE(FORMAT_AT)

/** The commit file from which an index is opened. */
export function newestCommit(index: string): string {
  const commits = readdirSync(index).filter((name) => name.startsWith('commit-'))
  const newest = commits.sort().at(-1)
  if (newest === undefined) throw new Error(`there is no commit in ${index}`)
  return join(index, newest)
}
