/** Here is what an instance knows beside its indexes and tasks: how does an archive say it? */
import type { WebhookBody } from '../tasks/index.js'
import { boolean, date, defaulted, type Form, list, map, nullable, record, text, uid, url } from './forms.js'

/** Experimental features by name. null is stored for a feature that is off even where a launch option asks for it. */
export type StoredFeatures = Readonly<Record<string, boolean | null>>

const features = map(nullable(boolean))

/** `experimental-features.json`. Other readers take booleans alone, so null is written as false. */
export const featuresForm: Form<StoredFeatures> = {
  write: (stored) =>
    features.write(Object.fromEntries(Object.entries(stored).map(([name, on]) => [name, on === true]))),
  read: features.read,
}

/** The instances that know of each other, as stored. */
export interface StoredNetwork {
  readonly self: string | null
  readonly remotes: Readonly<Record<string, StoredRemote>>
  readonly shards: Readonly<Record<string, { readonly remotes: readonly string[] }>>
  readonly leader: string | null
  readonly version: string
}

interface StoredRemote {
  readonly url: string
  readonly searchApiKey: string | null
  readonly writeApiKey: string | null
}

/** `network.json`. */
export const networkForm = record<StoredNetwork>({
  self: nullable(text),
  remotes: defaulted(
    map(record<StoredRemote>({ url, searchApiKey: nullable(text), writeApiKey: nullable(text) })),
    {},
  ),
  shards: defaulted(map(record({ remotes: list(text) })), {}),
  leader: nullable(text),
  version: text,
})

/** `webhooks.json`: webhooks by uuid. */
export const webhooksForm = record({
  webhooks: defaulted(map(record<WebhookBody>({ url, headers: defaulted(map(text), {}) })), {}),
})

/** `metadata.json` of an index. */
export interface IndexMetadata {
  readonly uid: string
  readonly primaryKey: string | null
  readonly createdAt: string
  readonly updatedAt: string | null
}

export const indexMetadataForm = record<IndexMetadata>({
  uid: text,
  primaryKey: nullable(text),
  createdAt: date,
  updatedAt: nullable(date),
})

/** `embedders.json` of an index: components of the vectors of each embedder. */
export const lengthsForm = map(uid)
