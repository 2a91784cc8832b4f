/** Answers a question: the model speaks and asks for searches in turn, until it has answered. */
import { randomUUID } from 'node:crypto'
import type { ApiError } from '../errors/index.js'
import type { SearchServices } from '../operations/index.js'
import type { Outbound } from '../outbound/index.js'
import type { ChunkValue } from './chunks.js'
import { Citations } from './citations.js'
import { badAnswer, type Fault } from './failure.js'
import { type ChatTimes, RESULTS_CHARS_MAX, ROUNDS_MAX } from './limits.js'
import { completion, type Provider, providerBody, systemRole } from './provider.js'
import { type CompletionRequest, type EventTool, eventTools, type Message, withoutEvents } from './request.js'
import { answerCall, type Caller, type Found } from './search.js'
import { type OfferedIndex, SEARCH_TOOL, searchTool } from './search-tool.js'
import type { WorkspaceSettings } from './settings.js'
import { type Call, noUsage, Turn, type Usage, usageSum } from './turn.js'

/** A chat that may begin. */
export interface Chat {
  readonly services: SearchServices & { readonly outbound: Outbound }
  readonly request: CompletionRequest
  /** The events that the client asks for. */
  readonly events: ReadonlySet<EventTool>
  readonly settings: WorkspaceSettings
  readonly provider: Provider
  readonly indexes: readonly OfferedIndex[]
  readonly caller: Caller
  readonly times: ChatTimes
  /** Aborted when the client leaves, the server stops or the time is over. */
  readonly signal: AbortSignal
  /** Called with the tokens of each request to the provider, before the next one. */
  readonly used: (model: string, usage: Usage) => void
}

/** A part of an answer. */
export type Part =
  /** A chunk for the client. `text` is the JSON of `value`. */
  | { readonly kind: 'chunk'; readonly text: string; readonly value: ChunkValue }
  /** A search that failed for a reason the model did not cause. */
  | { readonly kind: 'fault'; readonly fault: Fault }

/** Yields the answer. @throws ChatFailure, or the reason of the signal */
export async function* converse(chat: Chat): AsyncGenerator<Part> {
  const { request, settings, provider, indexes, services, signal, times } = chat
  const { rounds, tokens } = settings.limits ?? { rounds: null, tokens: null }
  const roundsMax = rounds ?? ROUNDS_MAX
  const history = withoutEvents(request.messages)
  const messages: Message[] = [
    ...(settings.prompts.system === ''
      ? []
      : [{ role: systemRole(provider, request.model), content: settings.prompts.system }]),
    ...history,
  ]
  const tool = indexes.length === 0 ? null : searchTool(settings, indexes)
  const searching = {
    services,
    indexes,
    caller: chat.caller,
    citations: new Citations(earlierResults(history)),
  }
  let total = noUsage
  let resultChars = 0
  for (let round = 1; ; round++) {
    const turn = new Turn()
    const body = providerBody(provider, request, {
      messages,
      tool,
      isFirst: round === 1,
      isLast: round === roundsMax && round > 1,
      tokensMax: tokens === null ? null : tokens - total.total_tokens,
    })
    for await (const chunk of completion(services.outbound, provider, body, { times, signal })) {
      const text = turn.take(chunk)
      if (text !== null) yield chunkPart(text)
    }
    if (!turn.isFinished && turn.calls.length === 0 && turn.content === '')
      throw badAnswer('stream_ended', 'the provider ended its stream before the answer')
    const usage = turn.usage ?? estimated(body, turn)
    total = usageSum(total, usage)
    if (turn.usage !== null) chat.used(String(turn.last.model ?? request.model), turn.usage)
    const calls = tool === null ? [] : turn.calls
    const isStopped =
      calls.length > 0 && (round >= roundsMax || (tokens !== null && total.total_tokens >= tokens))
    if (calls.length === 0 || isStopped) {
      const head = headOf(turn, request)
      if (!turn.isEndShown) yield chunkPart(lastChunk(head, isStopped ? 'length' : 'stop'))
      if (request.asksForUsage || !request.stream) yield chunkPart({ ...head, choices: [], usage: total })
      return
    }
    messages.push(assistantMessage(calls, turn.content))
    for (const call of calls) {
      signal.throwIfAborted()
      const isFull = resultChars >= RESULTS_CHARS_MAX
      yield* shown(chat, turn, call, 'before')
      const result = isFull ? fullResult : await answerCall(call, searching)
      // The search fails because of the signal then, whatever it says.
      signal.throwIfAborted()
      resultChars += result.text.length
      if (result.failure !== null) yield { kind: 'fault', fault: faultOf(result.failure) }
      yield* shown(chat, turn, call, result)
      messages.push(toolMessage(call, result.text))
    }
  }
}

const fullResult: Found = {
  text: 'error: the results of all searches are too long together; answer from what you have',
  sources: null,
  failure: null,
}

/** Tokens of a round by its length. Source: four characters of English are about a token. */
function estimated(body: string, turn: Turn): Usage {
  const calls = turn.calls.reduce((sum, call) => sum + call.arguments.length, 0)
  const [prompt, answer] = [Math.ceil(body.length / 4), Math.ceil((turn.content.length + calls) / 4)]
  return { prompt_tokens: prompt, completion_tokens: answer, total_tokens: prompt + answer }
}

const faultOf = (error: ApiError): Fault => ({
  type: 'response_error',
  code: error.code,
  message: error.message,
  param: null,
})

/** Texts of the searches of earlier answers, as a client keeps them. */
const earlierResults = (messages: readonly Message[]): readonly string[] =>
  messages.flatMap(({ role, content }) => (role === 'tool' && typeof content === 'string' ? [content] : []))

const callMember = ({ id, name, arguments: json }: Call) => ({
  id,
  type: 'function',
  function: { name, arguments: json === '' ? '{}' : json },
})

const assistantMessage = (calls: readonly Call[], content: string): Message => ({
  role: 'assistant',
  ...(content !== '' && { content }),
  tool_calls: calls.map(callMember),
})

const toolMessage = ({ id }: Call, content: string): Message => ({ role: 'tool', tool_call_id: id, content })

/** Id, time and model of the chunks that this server adds. */
interface Head {
  readonly id: string
  readonly object: 'chat.completion.chunk'
  readonly created: number
  readonly model: string
}

function headOf({ last }: Turn, { model }: CompletionRequest): Head {
  return {
    id: typeof last.id === 'string' ? last.id : `chatcmpl-${randomUUID()}`,
    object: 'chat.completion.chunk',
    created: typeof last.created === 'number' ? last.created : Math.floor(Date.now() / 1000),
    model: typeof last.model === 'string' ? last.model : model,
  }
}

const lastChunk = (head: Head, reason: 'stop' | 'length') => ({
  ...head,
  choices: [{ index: 0, delta: {}, finish_reason: reason }],
})

/** @param given a chunk, or its JSON */
const chunkPart = (given: string | object): Part =>
  typeof given === 'string'
    ? { kind: 'chunk', text: given, value: JSON.parse(given) as ChunkValue }
    : { kind: 'chunk', text: JSON.stringify(given), value: given as ChunkValue }

/** The events before a search, or those with its result. */
function* shown(chat: Chat, turn: Turn, call: Call, when: 'before' | Found): Generator<Part> {
  const head = headOf(turn, chat.request)
  const event = (name: EventTool, content: object): Part[] =>
    chat.events.has(name) ? [chunkPart(eventChunk(head, name, content))] : []
  const { progress, append, sources } = eventTools
  if (when === 'before') {
    if (call.name === SEARCH_TOOL)
      yield* event(progress, {
        call_id: call.id,
        function_name: call.name,
        // Clients read one of these names.
        function_parameters: call.arguments,
        function_arguments: call.arguments,
      })
    yield* event(append, assistantMessage([call], ''))
    return
  }
  if (when.sources !== null) {
    const documents = when.sources.map(({ document }) => document)
    const citations = when.sources.map(({ citation }) => citation)
    yield* event(sources, { call_id: call.id, documents, sources: documents, citations })
  }
  yield* event(append, toolMessage(call, when.text))
}

const eventChunk = (head: Head, name: EventTool, content: object) => ({
  ...head,
  choices: [
    {
      index: 0,
      delta: {
        role: 'assistant',
        tool_calls: [
          {
            index: 0,
            id: randomUUID(),
            type: 'function',
            function: { name, arguments: JSON.stringify(content) },
          },
        ],
      },
      finish_reason: null,
    },
  ],
})
