import { isDeepStrictEqual } from 'node:util'
import { counted } from '../../parse/index.js'
import type { Peer } from '../peer/index.js'
import { livingKeys, missingFeatures, missingWebhooks, sameWebhook, webhookName } from './instance-parts.js'
import {
  countsOf,
  type IndexCounts,
  type IndexFacts,
  type Inventory,
  inventoryOf,
  type KeyFacts,
  type Selection,
  settingsOf,
} from './inventory.js'
import { missingRules } from './rules.js'
import { differingEmbedders, differingSettings } from './settings.js'

/** Returns a line for each part of the source that is missing or different on the target. */
export async function differences(from: Peer, to: Peer, selection: Selection): Promise<readonly string[]> {
  const [source, target] = await Promise.all([inventoryOf(from, selection), inventoryOf(to, selection)])
  const found: string[] = []
  for (const index of source.indexes) {
    const other = target.indexes.find(({ uid }) => uid === index.uid)
    if (other === undefined) found.push(`index \`${index.uid}\` is missing`)
    else found.push(...(await indexDifferences(from, to, index, other)))
  }
  return [...found, ...partDifferences(source, target)]
}

async function indexDifferences(
  from: Peer,
  to: Peer,
  index: IndexFacts,
  other: IndexFacts,
): Promise<readonly string[]> {
  const { uid } = index
  const of = `index \`${uid}\``
  const found: string[] = []
  if (index.primaryKey !== other.primaryKey)
    found.push(`${of}: primary key ${index.primaryKey} on the source, ${other.primaryKey} on the target`)
  const [counts, otherCounts, settings, otherSettings] = await Promise.all([
    countsOf(from, uid),
    countsOf(to, uid),
    settingsOf(from, uid),
    settingsOf(to, uid),
  ])
  const counted = [
    ['documents', 'numberOfDocuments'],
    ['embeddings', 'numberOfEmbeddings'],
    ['documents with embeddings', 'numberOfEmbeddedDocuments'],
  ] as const satisfies readonly (readonly [string, keyof IndexCounts])[]
  for (const [what, name] of counted) {
    const count = counts[name]
    if (count !== undefined && count !== otherCounts[name])
      found.push(`${of}: ${count} ${what} on the source, ${otherCounts[name] ?? 'not counted'} on the target`)
  }
  for (const name of differingSettings(settings, otherSettings)) {
    if (name !== 'embedders') found.push(`${of}: the setting \`${name}\``)
    else
      found.push(
        ...differingEmbedders(settings, otherSettings).map((embedder) => `${of}: embedder \`${embedder}\``),
      )
  }
  return found
}

function partDifferences(source: Inventory, target: Inventory): readonly string[] {
  const { off, unknown } = missingFeatures(source.features, target.features)
  const pairs = livingKeys(source.keys, Date.now()).map((key) => ({
    key,
    other: target.keys?.find(({ uid }) => uid === key.uid),
  }))
  const values = pairs.filter(({ key, other }) => other !== undefined && other.key !== key.key)
  return [
    ...[...off, ...unknown].map((name) => `feature \`${name}\` is disabled`),
    ...pairs.flatMap(({ key, other }) => {
      if (other === undefined) return [`key ${key.uid} is missing`]
      return isDeepStrictEqual(rightsOf(key), rightsOf(other))
        ? []
        : [`key ${key.uid} has different permissions`]
    }),
    ...(values.length > 0
      ? [
          `${counted(values.length, 'key')} ${values.length === 1 ? 'has another value' : 'have other values'}, since the master keys differ: give clients the new keys, or start the target with the master key of the source`,
        ]
      : []),
    ...missingRules(source.rules, target.rules).map(
      ({ uid }) => `dynamic search rule \`${uid}\` is missing or different`,
    ),
    ...missingWebhooks(source.webhooks, target.webhooks, sameWebhook).map(
      (webhook) => `${webhookName(webhook)} is missing or has different headers`,
    ),
  ]
}

/** Permissions of a key, independent of the order of lists and the format of dates. */
const rightsOf = ({ actions, indexes, expiresAt }: KeyFacts): unknown => ({
  actions: new Set(actions),
  indexes: new Set(indexes),
  expiresAt: expiresAt === null ? null : Date.parse(expiresAt),
})
