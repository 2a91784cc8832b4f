/** Workspaces of chats, as stored and dumped. */

/** Kinds of providers. */
export const chatSources = ['openAi', 'azureOpenAi', 'mistral', 'vLlm'] as const
export type ChatSource = (typeof chatSources)[number]

/** The texts of a workspace that the model reads. */
export const chatPromptNames = [
  'system',
  'searchDescription',
  'searchQParam',
  'searchFilterParam',
  'searchIndexUidParam',
] as const
export type ChatPromptName = (typeof chatPromptNames)[number]

/** Limits for one answer. */
export interface ChatLimits {
  /** Requests to the provider; null: the highest number. */
  readonly rounds: number | null
  /** Tokens that the provider counts, of all its requests; null: no limit. */
  readonly tokens: number | null
}

/** A workspace. Holds its API key in clear. */
export interface StoredChatWorkspace {
  readonly source: ChatSource
  readonly orgId: string | null
  readonly projectId: string | null
  readonly apiVersion: string | null
  readonly deploymentId: string | null
  readonly baseUrl: string | null
  readonly apiKey: string | null
  /** Other services may omit some. */
  readonly prompts: Readonly<Partial<Record<ChatPromptName, string>>>
  /** Absent: none. Other services do not know them. */
  readonly limits?: ChatLimits | undefined
}

/** Prefix of the keys of workspaces in the instance store. The uid follows. */
export const CHATS_STORED_AS = 'chatWorkspace/'
