import type { IndexId } from './engine.js'

/**
 * The id of an index, which names its directory. Ids are read from snapshots and from buckets too, so one that could lead
 * out of the directory of indexes is refused.
 * @throws Error
 */
export function requireIndexId(id: string): IndexId {
  if (/^[\w-]{1,200}$/.test(id)) return id
  throw new Error(`${JSON.stringify(id.slice(0, 100))} is not the id of an index`)
}
