import { completeSettings, type SettingsThread } from '../../settings/index.js'
import type { WriteServices } from './services.js'

/**
 * Computes the cost of a change of settings. Stores nothing and calls no embedder.
 * @param patch see `SettingsUpdate`
 * @returns JSON text: each changed setting, its values before and after, its cost, and embeddings to compute
 */
export async function dryRunJson(
  indexUid: string,
  patch: string,
  { engine, tasks, features }: WriteServices,
  settingsThread: SettingsThread,
): Promise<string> {
  const index = tasks.index(indexUid)
  const before = index === null ? null : await engine.settings(index.id)
  const merged = await settingsThread.merge(before, patch)
  const after = completeSettings(merged, merged.embedders)
  const [costs, documents] =
    index === null
      ? [{}, 0]
      : [await engine.settingsCost(index.id, after), (await engine.stats(index.id)).numberOfDocuments]
  const { remakes } = merged
  return settingsThread.compare(before, after, features.flags, { costs, remakes, documents })
}
