/** Finds the indexes that foreign keys refer to, and the rights of a request there. */
import type { Engine, ForeignKey } from '../../engine/index.js'
import type { Features } from '../../instance/index.js'
import type { IndexEntry, Tasks } from '../../tasks/index.js'
import { bothFilters } from './search-requests.js'

/** The rights of a request on indexes that it does not name. */
export interface SearchRights {
  maySearch(indexUid: string): boolean
  /** The filter that is added to every search of the index; null: no filter. */
  forcedFilter(indexUid: string): unknown
}

/** The foreign keys of an index. `foreignKeys` is absent while their feature is off. */
interface FollowedKeys {
  readonly foreignKeys?: readonly ForeignKey[]
  /** The indexes that the foreign keys refer to. */
  readonly entries: readonly IndexEntry[]
}

interface Lookup {
  readonly engine: Pick<Engine, 'foreignKeys'>
  readonly tasks: Pick<Tasks, 'index'>
  readonly features: Features
}

/** Finds the indexes by their current uids, so that a renamed or swapped index counts by its new uid. */
export async function followedKeys(
  { engine, tasks, features }: Lookup,
  { id }: IndexEntry,
  rights: SearchRights,
): Promise<FollowedKeys> {
  if (!features.flags.foreignKeys) return { entries: [] }
  const entries = new Map<string, IndexEntry>()
  const accessTo = (uid: string): ForeignKey['access'] => {
    // Do not reveal the name of the forbidden index, or if it exists.
    if (!rights.maySearch(uid)) return { kind: 'refused', message: 'this key may not search the other index' }
    const entry = tasks.index(uid)
    if (entry === null) return { kind: 'missing' }
    entries.set(uid, entry)
    return { kind: 'granted', index: entry.id, filter: bothFilters(null, rights.forcedFilter(uid)) }
  }
  const foreignKeys = (await engine.foreignKeys(id)).map(({ fieldName, foreignIndexUid }) => ({
    fieldName,
    foreignIndexUid,
    access: accessTo(foreignIndexUid),
  }))
  return { foreignKeys, entries: [...entries.values()] }
}
