/** Searches for documents. */
import type { Answer } from '../../engine/index.js'
import type { IndexEntry } from '../../tasks/index.js'
import { followedKeys, type ParsedSearch, searchRequest } from '../requests/index.js'
import { searchEmbedded } from './embedding.js'
import type { Reading } from './reading.js'
import type { SearchServices } from './services.js'

/** Returns the engine's answer to a search. Embeds the query if necessary. */
export async function search(
  services: SearchServices,
  entry: IndexEntry,
  wanted: ParsedSearch,
  { access, stop, alsoRead, includeMetadata }: Reading & { readonly includeMetadata: boolean },
): Promise<Answer> {
  const { tasks, features } = services
  const { entries, ...followed } = await followedKeys(services, entry, access)
  alsoRead(entries)
  const request = searchRequest(wanted, {
    entry,
    features,
    forcedFilter: access.forcedFilter(entry.uid),
    includeMetadata,
    rules: tasks.rules(),
    ...followed,
  })
  return searchEmbedded(services, { entry, request, media: wanted.media }, stop)
}
