/** Requests for completions. */
import { ApiError } from '../errors/index.js'
import {
  anything,
  boolean,
  cutText,
  type JsonNode,
  list,
  named,
  nullable,
  number,
  optional,
  required,
  shape,
  string,
  type Type,
  toValue,
  wrongType,
} from '../parse/index.js'
import { SEARCH_TOOL } from './search-tool.js'

/** A message of a conversation, as clients and providers exchange it. */
export type Message = Readonly<Record<string, unknown>>

/** A request, checked as far as this server reads it. */
export interface CompletionRequest {
  readonly model: string
  readonly messages: readonly Message[]
  readonly stream: boolean
  readonly n: number
  readonly asksForUsage: boolean
  /** Names of the client's tools. */
  readonly tools: readonly string[]
  /** Every member as sent. */
  readonly sent: Readonly<Record<string, unknown>>
}

const object: Type<Message> = {
  expected: 'an object',
  schema: { type: 'object', additionalProperties: true },
  json(node, at) {
    if (node.kind !== 'object') throw wrongType('an object', node, at)
    return toValue(node) as Message
  },
  text(text, at) {
    throw wrongType('an object', { kind: 'string', value: text }, at)
  },
}

const tool = shape(
  {
    function: optional(
      shape({ name: required(string, 'bad_request') }, { ignoreUnknown: true }),
      'bad_request',
    ),
  },
  { ignoreUnknown: true },
)
const fields = shape(
  {
    model: required(string, 'bad_request'),
    messages: required(list(object), 'bad_request'),
    stream: optional(boolean, 'bad_request'),
    n: optional(number(), 'bad_request'),
    tools: optional(list(tool), 'bad_request'),
    functions: optional(list(anything), 'bad_request'),
    stream_options: optional(
      shape({ include_usage: optional(nullable(boolean), 'bad_request') }, { ignoreUnknown: true }),
      'bad_request',
    ),
  },
  { ignoreUnknown: true },
)

/** The body of a request. Members that this server does not know are passed to the provider. */
export const completionRequest: Type<CompletionRequest> = named('ChatCompletionRequest', {
  expected: 'an object',
  schema: fields.schema,
  json(node: JsonNode, at) {
    const { model, messages, stream, n, tools, functions, stream_options: options } = fields.json(node, at)
    return {
      model,
      messages,
      stream: stream === true,
      n: n ?? 1,
      asksForUsage: options?.include_usage === true,
      tools: [
        ...(tools ?? []).map((one) => one.function?.name ?? ''),
        // Functions are the tools of older clients. Events cannot be sent to them.
        ...(functions ?? []).map(() => 'functions'),
      ],
      sent: toValue(node) as Message,
    }
  },
  text: (text, at) => object.text(text, at) as never,
})

/** The tools by which a client asks for events. */
export const eventTools = {
  progress: '_meiliSearchProgress',
  append: '_meiliAppendConversationMessage',
  sources: '_meiliSearchSources',
} as const
export type EventTool = (typeof eventTools)[keyof typeof eventTools]

/**
 * Returns the events that the client asks for by its tools.
 * @throws ApiError for a tool that the client would have to run itself
 */
export function wantedEvents({ tools }: CompletionRequest): ReadonlySet<EventTool> {
  const known = Object.values(eventTools)
  for (const name of tools) {
    if (name === SEARCH_TOOL)
      throw new ApiError(
        'bad_request',
        `\`.tools\`: the tool \`${SEARCH_TOOL}\` belongs to the server; leave it out`,
      )
    if (!known.some((one) => one === name))
      throw new ApiError(
        'unimplemented_external_function_calling',
        `\`.tools\`: the tool \`${cutText(name, 100)}\` is not supported; the tools of clients are ${known.join(', ')}`,
      )
  }
  return new Set(tools as readonly EventTool[])
}

/**
 * Returns the conversation without calls of the client's tools. A client that keeps them in its history never answers
 * them, and providers refuse calls without answers.
 */
export function withoutEvents(messages: readonly Message[]): readonly Message[] {
  const removed = new Set<unknown>()
  return messages.flatMap((message): readonly Message[] => {
    if (message.role === 'tool') return removed.has(message.tool_call_id) ? [] : [message]
    const { tool_calls: calls, ...rest } = message
    if (!Array.isArray(calls)) return [message]
    const kept = calls.filter((call) => {
      const { id, function: called } = (call ?? {}) as { id?: unknown; function?: { name?: unknown } }
      const isEvent = Object.values<unknown>(eventTools).includes(called?.name)
      if (isEvent) removed.add(id)
      return !isEvent
    })
    if (kept.length === calls.length) return [message]
    if (kept.length > 0) return [{ ...rest, tool_calls: kept }]
    return rest.content ? [rest] : []
  })
}
