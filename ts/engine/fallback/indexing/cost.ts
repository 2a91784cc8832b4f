/** Decides what a settings change rebuilds from the stored documents. */
import type { IndexSettings } from '../../../settings/index.js'
import type { SettingCost } from '../../engine.js'

interface Row {
  readonly setting: keyof IndexSettings
  /** The relevant part of the setting. Default: all of it. */
  readonly part?: (settings: IndexSettings) => unknown
  readonly cost: SettingCost
}

const rows: readonly Row[] = [
  {
    setting: 'searchableAttributes',
    part: ({ searchableAttributes: names }) => (names.includes('*') ? ['*'] : [...names].sort()),
    cost: 'documents',
  },
  { setting: 'stopWords', cost: 'documents' },
  { setting: 'separatorTokens', cost: 'documents' },
  { setting: 'nonSeparatorTokens', cost: 'documents' },
  { setting: 'dictionary', cost: 'documents' },
  { setting: 'localizedAttributes', cost: 'documents' },
  { setting: 'filterableAttributes', cost: 'columns' },
  { setting: 'sortableAttributes', cost: 'columns' },
  { setting: 'distinctAttribute', cost: 'columns' },
  {
    setting: 'rankingRules',
    part: ({ rankingRules }) => rankingRules.filter((rule) => rule.includes(':')),
    cost: 'columns',
  },
]

/**
 * Settings that differ and cost more than a commit without documents. `documents`: words or positions of stored
 * documents would change. `columns`: other fields would need columns.
 */
export function costsOf(before: IndexSettings, after: IndexSettings): Readonly<Record<string, SettingCost>> {
  const differing = rows.filter(({ setting, part = (settings) => settings[setting] }) => {
    return JSON.stringify(part(before)) !== JSON.stringify(part(after))
  })
  return Object.fromEntries(differing.map(({ setting, cost }) => [setting, cost]))
}
