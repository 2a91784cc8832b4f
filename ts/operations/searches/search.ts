/** Searches for documents. */
import type { Answer } from '../../engine/index.js'
import type { IndexEntry } from '../../tasks/index.js'
import { followedKeys, type ParsedSearch, searchRequest } from '../requests/index.js'
import { searchEmbedded, withVector } from './embedding.js'
import type { Reading } from './reading.js'
import { reorderingOf } from './reordering/index.js'
import type { SearchServices } from './services.js'

/** Returns the answer to a search. Embeds the query if necessary, and reorders the hits if the search asks for it. */
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
  services.ruleFilters?.check(entry, request, wanted.inlineRule?.uid)
  const embeddable = { entry, request, media: wanted.media }
  if (wanted.rerank === null && wanted.personalize === null) return searchEmbedded(services, embeddable, stop)
  const started = performance.now()
  const complete = await withVector(services, embeddable, stop, started)
  const reordering = await reorderingOf(services, entry, complete, wanted, started)
  const asked = reordering?.request ?? complete
  const answer = await services.answers.search(entry.id, asked, stop, services.queries.timesStages)
  return reordering === null ? answer : reordering.apply(answer, stop)
}
