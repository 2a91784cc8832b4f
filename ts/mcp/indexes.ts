/** Descriptions of indexes inside the protocol: as resources, and as text for the search tool. */
import { type Api, ask, indexPath, type Json } from './api.js'
import { NAMED_INDEX_CHARS_MAX, NAMED_INDEXES_MAX } from './limits.js'

const PREFIX = 'siftd://indexes/'

export const resourceTemplate = `${PREFIX}{indexUid}`
export const resourceUri = (uid: string): string => `${PREFIX}${encodeURIComponent(uid)}`

/** Returns the uid that a resource names; null for another URI. */
export function uidOf(uri: string): string | null {
  if (!uri.startsWith(PREFIX)) return null
  try {
    const uid = decodeURIComponent(uri.slice(PREFIX.length))
    return ['', '.', '..'].includes(uid) ? null : uid
  } catch {
    return null
  }
}

/** Returns the indexes that the caller may search; empty without the right. */
export async function searchable(api: Api, limit: number): Promise<readonly Json[]> {
  const page = await ask(api, { method: 'GET', path: `/descriptions?limit=${limit}` }).catch((): Json => ({}))
  return Array.isArray(page.results) ? (page.results as readonly Json[]) : []
}

/**
 * Returns a text that names the first indexes with the attributes for filters and sorts, so that an agent can write a
 * valid filter at once.
 */
export async function namedIndexes(api: Api): Promise<string> {
  const indexes = await searchable(api, NAMED_INDEXES_MAX)
  const lines: string[] = []
  for (const { uid } of indexes) {
    const path = indexPath(String(uid), '/description?examples=false')
    const found = await ask(api, { method: 'GET', path }).catch(() => null)
    if (found !== null) lines.push(lineOf(found))
  }
  return lines.length === 0 ? '' : `\n\nIndexes:\n${lines.join('\n')}`
}

/** Returns the filterable attributes of a described index, with a note where few operators work. */
export function filterNames({
  filterableAttributes,
  comparableAttributes,
}: Readonly<Record<'filterableAttributes' | 'comparableAttributes', unknown>>): readonly string[] {
  const comparable = new Set(names(comparableAttributes))
  return names(filterableAttributes).map((name) => (comparable.has(name) ? name : `${name} (= and IN only)`))
}

function lineOf({
  uid,
  filterableAttributes,
  comparableAttributes,
  sortableAttributes,
  embedders,
}: Json): string {
  const filters = filterNames({ filterableAttributes, comparableAttributes })
  const parts = [
    filters.length > 0 && `filter by ${filters.join(', ')}`,
    names(sortableAttributes).length > 0 && `sort by ${names(sortableAttributes).join(', ')}`,
    names(embedders).length > 0 && `embedders ${names(embedders).join(', ')}`,
  ].filter(Boolean)
  const line = `- ${String(uid)}: ${parts.length === 0 ? 'no filters, no sorts' : parts.join('; ')}`
  return line.length > NAMED_INDEX_CHARS_MAX ? `${line.slice(0, NAMED_INDEX_CHARS_MAX)}…` : line
}

const names = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(String) : [])
