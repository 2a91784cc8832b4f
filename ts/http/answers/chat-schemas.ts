import { namedSchema, orNull } from '../../operations/index.js'
import { anyJson, count, listOf, record, text } from './schemas.js'

// Schemas of the answers about chats.

export const chatWorkspace = namedSchema('ChatWorkspace', record({ uid: text }))

export const chatWorkspaceSettings = namedSchema(
  'ChatWorkspaceSettings',
  record(
    {
      source: text,
      orgId: orNull(text),
      projectId: orNull(text),
      apiVersion: orNull(text),
      deploymentId: orNull(text),
      baseUrl: orNull(text),
      apiKey: orNull(text),
      prompts: record({
        system: text,
        searchDescription: text,
        searchQParam: text,
        searchFilterParam: text,
        searchIndexUidParam: text,
      }),
      limits: record({ rounds: orNull(count), tokens: orNull(count) }),
    },
    ['limits'],
  ),
)

/** An answer that is not streamed. A streamed one has the type `text/event-stream`. */
export const chatCompletion = namedSchema(
  'ChatCompletion',
  record({ id: text, object: text, created: count, model: text, choices: listOf(anyJson), usage: anyJson }),
)
