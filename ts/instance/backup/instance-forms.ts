/** Archive forms of features, network, webhooks and index metadata. */
import type { WebhookBody } from '../../tasks/index.js'
import {
  type ChatLimits,
  type ChatPromptName,
  chatSources,
  type StoredChatWorkspace,
} from '../chat-workspaces.js'
import {
  boolean,
  choice,
  date,
  defaulted,
  type Form,
  list,
  map,
  nullable,
  optional,
  record,
  text,
  uid,
  url,
} from './forms.js'

/** Experimental features by name. null: off even if a launch option switches the feature on. */
export type StoredFeatures = Readonly<Record<string, boolean | null>>

const features = map(nullable(boolean))

/** `experimental-features.json`. null is written as false, because other services read only booleans. */
export const featuresForm: Form<StoredFeatures> = {
  write: (stored) =>
    features.write(Object.fromEntries(Object.entries(stored).map(([name, on]) => [name, on === true]))),
  read: features.read,
}

/** The network as stored. */
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

/** The version of a network that has never been changed. Other services may omit it. */
export const NO_VERSION = '00000000-0000-0000-0000-000000000000'

/** `network.json`. */
export const networkForm = record<StoredNetwork>({
  self: nullable(text),
  remotes: defaulted(
    map(record<StoredRemote>({ url, searchApiKey: nullable(text), writeApiKey: nullable(text) })),
    {},
  ),
  shards: defaulted(map(record({ remotes: list(text) })), {}),
  leader: nullable(text),
  version: defaulted(text, NO_VERSION),
})

/** `webhooks.json`: webhooks by uuid. */
export const webhooksForm = record({
  webhooks: defaulted(map(record<WebhookBody>({ url, headers: defaulted(map(text), {}) })), {}),
})

const prompts = record<Partial<Record<ChatPromptName, string>>>({
  system: optional(text),
  searchDescription: optional(text),
  searchQParam: optional(text),
  searchFilterParam: optional(text),
  searchIndexUidParam: optional(text),
})

/** `chat-completions-settings/{uid}.json`. The API key is in clear, because the other instance needs it. */
export const chatWorkspaceForm = record<StoredChatWorkspace>({
  source: defaulted(choice(chatSources), 'openAi'),
  orgId: nullable(text),
  projectId: nullable(text),
  apiVersion: nullable(text),
  deploymentId: nullable(text),
  baseUrl: nullable(text),
  apiKey: nullable(text),
  prompts: defaulted(prompts, {}),
  limits: optional(record<ChatLimits>({ rounds: nullable(uid), tokens: nullable(uid) })),
})

/** `metadata.json` of an index. */
interface IndexMetadata {
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

/** `embedders.json` of an index: the number of components of the vectors of each embedder. */
export const lengthsForm = map(uid)
