/** Compares settings before and after a change, and reports the cost of the change. */
import { sourceOf } from './embedder-rules.js'
import type { SettingsFeatures } from './embedders.js'
import { defaultIndexSettings, type IndexSettings } from './index-settings.js'
import { renderSettings } from './merge.js'
import type { Remakes } from './remakes.js'

/** Facts from the engine and the index about the change. */
interface ComparedIndex {
  /** Setting → cost, if it costs more than `metadata`; see `SettingCost` of the engine. */
  readonly costs: Readonly<Record<string, string>>
  readonly remakes: Remakes
  /** Number of documents in the index. */
  readonly documents: number
}

/**
 * Returns the comparison as JSON text. `changes` are in the order of the API, with masked secrets. `embeddings` has an
 * upper bound of the documents to embed for each embedder; there are fewer if vectors stay that are unchanged or from
 * clients.
 * @param before JSON text of the complete settings; null: the settings of a new index
 * @param after JSON text of the complete settings
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
