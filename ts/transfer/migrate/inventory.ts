import { presentMembers } from '../../tasks/index.js'
import {
  isCount,
  isFlag,
  isObject,
  isText,
  isTexts,
  isUrl,
  list,
  listAll,
  mapOf,
  maybe,
  object,
  type Peer,
  PeerError,
} from '../peer/index.js'

export interface IndexFacts {
  readonly uid: string
  readonly primaryKey: string | null
  readonly createdAt: string
}

export const indexShape = { uid: isText, primaryKey: maybe(isText), createdAt: isText }

/** Counts of an index. Older versions of Meilisearch do not count embeddings. */
export interface IndexCounts {
  readonly numberOfDocuments: number
  readonly numberOfEmbeddings?: number
  readonly numberOfEmbeddedDocuments?: number
}

const countsShape = {
  numberOfDocuments: isCount,
  numberOfEmbeddings: maybe(isCount),
  numberOfEmbeddedDocuments: maybe(isCount),
}

export interface KeyFacts {
  readonly uid: string
  readonly name: string | null
  readonly description: string | null
  /** The key value. It is compared and never printed. */
  readonly key: string
  readonly actions: readonly string[]
  readonly indexes: readonly string[]
  readonly expiresAt: string | null
}

const keyShape = {
  ...{ uid: isText, name: maybe(isText), description: maybe(isText), key: isText },
  ...{ actions: isTexts, indexes: isTexts, expiresAt: maybe(isText) },
}

export interface WebhookFacts {
  readonly uuid: string
  /** False for the webhook of the command line. */
  readonly isEditable: boolean
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

const webhooksShape = {
  results: list(object({ uuid: isText, isEditable: isFlag, url: isUrl, headers: mapOf(isText) })),
}

/** A dynamic search rule. Members without a value are absent. */
export interface RuleFacts {
  readonly uid: string
  readonly lastUpdatedAt?: string
}

/** Rules before version 1.51 have no date. */
const ruleShape = { uid: isText, lastUpdatedAt: maybe(isText) }

export type Settings = Readonly<Record<string, unknown>>
export type FeatureFlags = Readonly<Record<string, boolean>>

/** Parts of an instance outside of indexes. */
export const instanceParts = ['features', 'rules', 'keys', 'webhooks'] as const
export type InstancePart = (typeof instanceParts)[number]

/** Selection of the indexes and parts to copy. */
export interface Selection {
  /** Uids; null: all indexes. */
  readonly indexes: readonly string[] | null
  readonly skipped: ReadonlySet<InstancePart>
}

/** Content of an instance. */
export interface Inventory {
  readonly indexes: readonly IndexFacts[]
  readonly features: FeatureFlags
  /** null: the instance has no master key and therefore no keys. */
  readonly keys: readonly KeyFacts[] | null
  /** null: they cannot be listed, since the feature is disabled or not supported. */
  readonly rules: readonly RuleFacts[] | null
  readonly webhooks: readonly WebhookFacts[]
}

/** Reads everything except settings and documents. Skipped parts are empty. */
export async function inventoryOf(peer: Peer, { indexes, skipped }: Selection): Promise<Inventory> {
  const all = await listAll<IndexFacts>(peer, '/indexes', indexShape)
  return {
    indexes: all.filter(({ uid }) => indexes === null || indexes.includes(uid)),
    features: skipped.has('features')
      ? {}
      : await peer.json<FeatureFlags>('GET', '/experimental-features', { shape: {} }),
    keys: skipped.has('keys') ? [] : await keysOf(peer),
    rules: skipped.has('rules') ? [] : await rulesOf(peer),
    webhooks: skipped.has('webhooks') ? [] : await webhooksOf(peer),
  }
}

async function keysOf(peer: Peer): Promise<readonly KeyFacts[] | null> {
  try {
    return await listAll<KeyFacts>(peer, '/keys', keyShape)
  } catch (error) {
    if (error instanceof PeerError && error.apiCode === 'missing_master_key') return null
    throw error
  }
}

async function webhooksOf(peer: Peer): Promise<readonly WebhookFacts[]> {
  try {
    return (
      await peer.json<{ results: readonly WebhookFacts[] }>('GET', '/webhooks', { shape: webhooksShape })
    ).results
  } catch (error) {
    // Meilisearch before 1.17 has only the webhook of the command line.
    if (error instanceof PeerError && error.status === 404) return []
    throw error
  }
}

/** Lists dynamic search rules in their present form; null if the feature is disabled or not supported. */
export async function rulesOf(peer: Peer): Promise<readonly RuleFacts[] | null> {
  try {
    const rules = await listAll<RuleFacts>(peer, '/dynamic-search-rules', ruleShape, 'POST')
    return rules.map(presentMembers)
  } catch (error) {
    if (!(error instanceof PeerError)) throw error
    if (error.apiCode === 'feature_not_enabled' || error.status === 404 || error.status === 405) return null
    throw error
  }
}

export const countsOf = (peer: Peer, uid: string): Promise<IndexCounts> =>
  peer.json<IndexCounts>('GET', `/indexes/${encodeURIComponent(uid)}/stats`, { shape: countsShape })

export const settingsOf = (peer: Peer, uid: string): Promise<Settings> =>
  peer.json<Settings>('GET', `/indexes/${encodeURIComponent(uid)}/settings`, {
    shape: { embedders: maybe(mapOf(isObject)) },
  })
