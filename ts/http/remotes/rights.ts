/** Rights to search that cross from one instance to another, which enforces them where it follows foreign keys. */
import { type Access, readRights, type SearchRights, writeRights } from '../../auth/index.js'
import { bothFilters } from '../../requests/index.js'
import { RIGHTS_HEADER_BYTES_MAX } from './limits.js'

/** Of a request: the rights. Of an answer: `enforced`. */
export const RIGHTS_HEADER = 'siftd-search-rights'
export const RIGHTS_ENFORCED = 'enforced'

/** The header of a request to a remote; null: the client may search every index. */
export function rightsHeader({ passedRights }: Access): string | null {
  return passedRights === null ? null : writeRights(passedRights, RIGHTS_HEADER_BYTES_MAX)
}

/** The rights of a request, narrowed to those that another instance passes. @throws ApiError `bad_request` */
export function narrowedRights(
  own: SearchRights,
  header: string | readonly string[] | undefined,
): SearchRights {
  if (header === undefined) return own
  const passed = readRights(String(header))
  return {
    maySearch: (uid) => own.maySearch(uid) && passed.maySearch(uid),
    forcedFilter: (uid) => bothFilters(bothFilters(null, own.forcedFilter(uid)), passed.forcedFilter(uid)),
  }
}

/** Whether a filter may lead to another index. Text in quotes that looks like it counts too. */
export function mayJoin(filter: unknown): boolean {
  if (Array.isArray(filter)) return filter.some(mayJoin)
  return typeof filter === 'string' && /_foreign\s*\(/.test(filter)
}
