/** Passes search rights from one instance to another, which enforces them where it follows foreign keys. */
import { type Access, readRights, type SearchRights, writeRights } from '../../auth/index.js'
import { bothFilters } from '../../operations/index.js'
import { RIGHTS_HEADER_BYTES_MAX } from './limits.js'

/** In a request: the rights. In an answer: `enforced`. */
export const RIGHTS_HEADER = 'siftd-search-rights'
export const RIGHTS_ENFORCED = 'enforced'

/** Returns the header for a request to a remote; null: the client may search every index. */
export function rightsHeader({ passedRights }: Access): string | null {
  return passedRights === null ? null : writeRights(passedRights, RIGHTS_HEADER_BYTES_MAX)
}

/** Returns the rights of a request, narrowed to the rights in its header. @throws ApiError `bad_request` */
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

/** Returns true if a filter may join another index. Errs on the safe side: quoted text that matches counts too. */
export function mayJoin(filter: unknown): boolean {
  if (Array.isArray(filter)) return filter.some(mayJoin)
  return typeof filter === 'string' && /_foreign\s*\(/.test(filter)
}
