/** The name of an index on disk: the uuid of its directory. Uids are only in the catalogue and may change. */
export type IndexId = string

/**
 * Checks an index id, which names the directory of the index. Ids are also read from snapshots and buckets, so an id
 * that could point outside the directory of indexes is refused.
 * @throws Error
 */
export function requireIndexId(id: string): IndexId {
  if (/^[\w-]{1,200}$/.test(id)) return id
  throw new Error(`${JSON.stringify(id.slice(0, 100))} is not the id of an index`)
}
