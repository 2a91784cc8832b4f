/** Settings of workspaces: their patch, merging, checks, and what answers show of them. */
import { ApiError } from '../errors/index.js'
import {
  type ChatLimits,
  type ChatPromptName,
  type ChatSource,
  chatPromptNames,
  chatSources,
  type StoredChatWorkspace,
} from '../instance/index.js'
import {
  badValue,
  httpUrl,
  integer,
  named,
  oneOf,
  refined,
  setting,
  shape,
  string,
  type Type,
  U32_MAX,
} from '../parse/index.js'
import { maskSecret, maskUserInfo } from '../settings/index.js'
import { FIELD_BYTES_MAX, PROMPT_BYTES_MAX, ROUNDS_MAX } from './limits.js'
import { defaultPrompts } from './prompts.js'

/** Settings with all prompts. Hold the API key in clear. */
export type WorkspaceSettings = StoredChatWorkspace & {
  readonly prompts: Readonly<Record<ChatPromptName, string>>
}

const defaults: WorkspaceSettings = {
  source: 'openAi',
  orgId: null,
  projectId: null,
  apiVersion: null,
  deploymentId: null,
  baseUrl: null,
  apiKey: null,
  prompts: defaultPrompts,
}

/** Returns the settings of a stored workspace, with the default prompts where it has none; null: all defaults. */
export function completeSettings(stored: StoredChatWorkspace | null): WorkspaceSettings {
  if (stored === null) return defaults
  return { ...defaults, ...stored, prompts: { ...defaultPrompts, ...stored.prompts } }
}

const bounded = (bytesMax: number): Type<string> =>
  refined(
    string,
    (text, at) => {
      const bytes = Buffer.byteLength(text)
      if (bytes > bytesMax) throw badValue(`it has ${bytes} bytes, the most are ${bytesMax}`, at)
      return text
    },
    { maxLength: bytesMax },
  )

const field = bounded(FIELD_BYTES_MAX)

/** A text that is sent in a header. The message does not quote it, since it may be a secret. */
const headerText: Type<string> = refined(field, (text, at) => {
  if (!/^[\x20-\x7e]*$/.test(text))
    throw badValue(
      'it has characters that a header cannot have: send ASCII characters without line breaks',
      at,
    )
  return text
})

const baseUrl: Type<string> = refined(field, (text, at) => {
  if (text !== '') httpUrl.text(text, at)
  return text
})

const prompt = bounded(PROMPT_BYTES_MAX)

const atLeastOne = (max: number): Type<number> =>
  refined(
    integer(max),
    (value, at) => {
      if (value === 0) throw badValue('`0` would answer nothing; send null for no limit', at)
      return value
    },
    { minimum: 1 },
  )

/** A change of settings: absent members stay, null resets. */
export const settingsPatch = named(
  'ChatWorkspacePatch',
  shape({
    source: setting(oneOf(chatSources), 'bad_request'),
    orgId: setting(headerText, 'invalid_chat_completion_org_id'),
    projectId: setting(headerText, 'invalid_chat_completion_project_id'),
    apiVersion: setting(field, 'invalid_chat_completion_api_version'),
    deploymentId: setting(field, 'invalid_chat_completion_deployment_id'),
    baseUrl: setting(baseUrl, 'invalid_chat_completion_base_api'),
    apiKey: setting(headerText, 'invalid_chat_completion_api_key'),
    prompts: setting(
      shape({
        system: setting(prompt, 'invalid_chat_completion_system_prompt'),
        searchDescription: setting(prompt, 'invalid_chat_completion_search_description_prompt'),
        searchQParam: setting(prompt, 'invalid_chat_completion_search_query_param_prompt'),
        searchFilterParam: setting(prompt, 'invalid_chat_completion_search_filter_param_prompt'),
        searchIndexUidParam: setting(prompt, 'invalid_chat_completion_search_index_uid_param_prompt'),
      }),
      'bad_request',
    ),
    limits: setting(
      shape({
        rounds: setting(atLeastOne(ROUNDS_MAX), 'bad_request'),
        tokens: setting(atLeastOne(U32_MAX), 'bad_request'),
      }),
      'bad_request',
    ),
  }),
)
export type SettingsPatch = ReturnType<typeof settingsPatch.json>

/** Returns the settings after a change. @throws ApiError `bad_request` if the source lacks a setting */
export function mergedSettings(current: WorkspaceSettings, patch: SettingsPatch): WorkspaceSettings {
  const limits = mergedLimits(current.limits, patch.limits)
  const merged: WorkspaceSettings = {
    source: patch.source === undefined ? current.source : (patch.source ?? defaults.source),
    orgId: kept(patch.orgId, current.orgId),
    projectId: kept(patch.projectId, current.projectId),
    apiVersion: kept(patch.apiVersion, current.apiVersion),
    deploymentId: kept(patch.deploymentId, current.deploymentId),
    // A client may send back what an answer showed.
    baseUrl: unmasked(patch.baseUrl, current.baseUrl, maskUserInfo),
    apiKey: unmasked(patch.apiKey, current.apiKey, maskSecret),
    prompts: mergedPrompts(current.prompts, patch.prompts),
    ...(limits !== null && { limits }),
  }
  requireComplete(merged)
  return merged
}

type Sent = string | null | undefined

const kept = (sent: Sent, current: string | null): string | null => (sent === undefined ? current : sent)

const unmasked = (sent: Sent, current: string | null, mask: (text: string) => string): string | null =>
  current !== null && sent === mask(current) ? current : kept(sent, current)

function mergedPrompts(
  current: WorkspaceSettings['prompts'],
  sent: SettingsPatch['prompts'],
): WorkspaceSettings['prompts'] {
  if (sent === undefined) return current
  if (sent === null) return defaultPrompts
  return Object.fromEntries(
    chatPromptNames.map((name) => [
      name,
      sent[name] === undefined ? current[name] : (sent[name] ?? defaultPrompts[name]),
    ]),
  ) as Record<ChatPromptName, string>
}

function mergedLimits(current: ChatLimits | undefined, sent: SettingsPatch['limits']): ChatLimits | null {
  if (sent === null) return null
  const { rounds = current?.rounds ?? null, tokens = current?.tokens ?? null } = sent ?? {}
  return rounds === null && tokens === null ? null : { rounds, tokens }
}

/** The settings that a source cannot do without. */
const needed: Readonly<Partial<Record<ChatSource, readonly ('baseUrl' | 'deploymentId' | 'apiVersion')[]>>> =
  {
    azureOpenAi: ['baseUrl', 'deploymentId', 'apiVersion'],
    vLlm: ['baseUrl'],
  }

function requireComplete(settings: WorkspaceSettings): void {
  for (const name of needed[settings.source] ?? []) {
    if (settings[name] !== null && settings[name] !== '') continue
    throw new ApiError('bad_request', `missing field \`${name}\`: the source \`${settings.source}\` needs it`)
  }
}

/** Returns settings for answers. Masks secrets. */
export function shownSettings(settings: WorkspaceSettings): Readonly<Record<string, unknown>> {
  const { baseUrl, apiKey, prompts, limits, ...others } = settings
  return {
    ...others,
    baseUrl: baseUrl === null ? null : maskUserInfo(baseUrl),
    apiKey: apiKey === null ? null : maskSecret(apiKey),
    prompts,
    ...(limits !== undefined && { limits }),
  }
}
