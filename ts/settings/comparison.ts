/** Here are settings and those that a change would leave: what differs, and what would the change cost? */
import { sourceOf } from './embedder-rules.js'
import type { SettingsFeatures } from './embedders.js'
import { defaultIndexSettings, type IndexSettings } from './index-settings.js'
import { renderSettings } from './merge.js'
import type { Remakes } from './remakes.js'

/** What the engine and the index say of the change. */
export interface ComparedIndex {
  /** Setting → cost, for those that cost more than `metadata`; see `SettingCost` of the engine. */
  readonly costs: Readonly<Record<string, string>>
  readonly remakes: Remakes
  /** Documents of the index. */
  readonly documents: number
}

/**
 * JSON text of the comparison. `changes` are in the order of the API, with masked secrets. `embeddings` are the most
 * documents that each embedder would be given; it is given fewer if vectors of clients, or unchanged ones, stay.
 * @param before JSON text of the complete settings; null: those of a new index
 * @param after likewise
 */
export function comparedSettings(
  before: string | null,
  after: string,
  features: SettingsFeatures,
  { costs, remakes, documents }: ComparedIndex,
): string {
  const [old, next] = [before, after].map((text) =>
    text === null ? defaultIndexSettings : (JSON.parse(text) as IndexSettings),
  ) as [IndexSettings, IndexSettings]
  const [shownBefore, shownAfter] = [renderSettings(old, features), renderSettings(next, features)]
  const differs = (name: string): boolean =>
    JSON.stringify(old[name as keyof IndexSettings]) !== JSON.stringify(next[name as keyof IndexSettings])
  const changes = Object.keys(shownAfter)
    .filter(differs)
    .map((name) => ({
      setting: name,
      before: shownBefore[name],
      after: shownAfter[name],
      cost: costs[name] ?? 'metadata',
    }))
  const embedded = Object.entries(next.embedders)
    .filter(([name, fields]) => sourceOf(fields) !== 'userProvided' && isRemade(name))
    .map(([name]) => [name, { documentsMax: documents }])
  return JSON.stringify({ documents, changes, embeddings: Object.fromEntries(embedded) })

  function isRemade(name: string): boolean {
    return !Object.hasOwn(old.embedders, name) || Object.hasOwn(remakes, name)
  }
}
