/** Answers a question: the model speaks and asks for searches in turn, until it has answered. */
import { randomUUID } from 'node:crypto'
import type { ApiError } from '../errors/index.js'
import type { SearchServices } from '../operations/index.js'
import type { Outbound } from '../outbound/index.js'
import { type Chunk, type ChunkValue, madeChunk } from './chunks.js'
import { Citations } from './citations.js'
import { badAnswer, type Fault } from './failure.js'
import { type ChatTimes, RESULTS_CHARS_MAX, ROUNDS_MAX } from './limits.js'
import { completion, type Provider, providerBody, systemRole } from './provider.js'
import { type CompletionRequest, type EventTool, eventTools, type Message, withoutEvents } from './request.js'
import { answerCall, type Caller, type Found, type Searching } from './search.js'
import { type OfferedIndex, SEARCH_TOOL, searchTool } from './search-tool.js'
import type { WorkspaceSettings } from './settings.js'
import { type Call, noUsage, Turn, type Usage, usageSum } from './turn.js'

/** A chat that may begin. */
interface Chat {
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
  | ({ readonly kind: 'chunk' } & Chunk)
  /** A search that failed for a reason the model did not cause. */
  | { readonly kind: 'fault'; readonly fault: Fault }

/** Yields the answer. @throws ChatFailure, ApiError if the key of the caller is not valid any more, or the reason of the signal */
export const converse = (chat: Chat): AsyncGenerator<Part> => new Conversation(chat).parts()

class Conversation {
  readonly #chat: Chat
  readonly #tool: Readonly<Record<string, unknown>> | null
  readonly #searching: Searching
  /** Messages for the provider in the next round. */
  readonly #messages: Message[]
  #total = noUsage
  #resultChars = 0

  constructor(chat: Chat) {
    const { request, settings, provider, indexes, services, caller } = chat
    const history = withoutEvents(request.messages)
    const { system } = settings.prompts
    const role = systemRole(provider, request.model)
    this.#chat = chat
    this.#tool = indexes.length === 0 ? null : searchTool(settings, indexes)
    this.#searching = { services, indexes, caller, citations: new Citations(earlierResults(history)) }
    this.#messages = [...(system === '' ? [] : [{ role, content: system }]), ...history]
  }

  async *parts(): AsyncGenerator<Part> {
    for (let round = 1; ; round++) {
      const turn = new Turn()
      yield* this.#speak(turn, round)
      const calls = this.#tool === null ? [] : turn.calls
      const isStopped = calls.length > 0 && this.#isLast(round)
      if (calls.length === 0 || isStopped) {
        yield* this.#end(turn, isStopped ? 'length' : 'stop')
        return
      }
      this.#messages.push(assistantMessage(calls, turn.content))
      for (const call of calls) yield* this.#search(turn, call)
    }
  }

  /** Lets the model speak. */
  async *#speak(turn: Turn, round: number): AsyncGenerator<Part> {
    const { request, provider, services, times, signal, settings, used } = this.#chat
    const tokens = settings.limits?.tokens ?? null
    const body = providerBody(provider, request, {
      messages: this.#messages,
      tool: this.#tool,
      isFirst: round === 1,
      isLast: round > 1 && round >= this.#roundsMax,
      tokensMax: tokens === null ? null : tokens - this.#total.total_tokens,
    })
    for await (const chunk of completion(services.outbound, provider, body, { times, signal })) {
      const shown = chunk === 'done' ? turn.finish() : turn.take(chunk)
      if (shown !== null) yield { kind: 'chunk', ...shown }
    }
    if (!turn.isFinished) throw badAnswer('stream_ended', 'the provider ended its stream before the answer')
    this.#total = usageSum(this.#total, turn.usage ?? estimated(body, turn))
    if (turn.usage !== null) used(String(turn.last.model ?? request.model), turn.usage)
  }

  get #roundsMax(): number {
    return this.#chat.settings.limits?.rounds ?? ROUNDS_MAX
  }

  #isLast(round: number): boolean {
    const tokens = this.#chat.settings.limits?.tokens ?? Number.POSITIVE_INFINITY
    return round >= this.#roundsMax || this.#total.total_tokens >= tokens
  }

  *#end(turn: Turn, reason: 'stop' | 'length'): Generator<Part> {
    const { request } = this.#chat
    const head = headOf(turn, request)
    if (!turn.isEndShown)
      yield chunkPart({ ...head, choices: [{ index: 0, delta: {}, finish_reason: reason }] })
    if (request.asksForUsage || !request.stream) yield chunkPart({ ...head, choices: [], usage: this.#total })
  }

  /** Runs a call of the model and adds its result to the conversation. */
  async *#search(turn: Turn, call: Call): AsyncGenerator<Part> {
    const { signal } = this.#chat
    signal.throwIfAborted()
    yield* this.#events(turn, call, 'before')
    const result =
      this.#resultChars >= RESULTS_CHARS_MAX ? fullResult : await answerCall(call, this.#searching)
    // An aborted search fails with another error than the reason of the signal.
    signal.throwIfAborted()
    this.#resultChars += result.text.length
    if (result.failure !== null) yield { kind: 'fault', fault: faultOf(result.failure) }
    yield* this.#events(turn, call, result)
    this.#messages.push(toolMessage(call, result.text))
  }

  /** The events before a search, or those with its result. */
  *#events(turn: Turn, call: Call, when: 'before' | Found): Generator<Part> {
    const { events, request } = this.#chat
    const head = headOf(turn, request)
    const event = (name: EventTool, content: object): Part[] =>
      events.has(name) ? [chunkPart(eventChunk(head, name, content))] : []
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

const chunkPart = (value: ChunkValue): Part => ({ kind: 'chunk', ...madeChunk(value) })

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
