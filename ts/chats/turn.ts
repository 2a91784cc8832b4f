/** An answer of the model: text for the client, and calls of tools, which the client does not get. */
import { randomUUID } from 'node:crypto'
import { cutText } from '../parse/index.js'
import { type CallPart, type Chunk, type ChunkValue, madeChunk } from './chunks.js'
import { badAnswer } from './failure.js'
import { ANSWER_CHARS_MAX, CALL_CHARS_MAX, CALLS_PER_ROUND_MAX } from './limits.js'

/** A call that the model asks for. */
export interface Call {
  readonly id: string
  readonly name: string
  /** JSON of the arguments as the model wrote it. Empty if it was too long. */
  readonly arguments: string
}

/** Tokens as providers count them. */
export interface Usage {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
}

export const noUsage: Usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }

export const usageSum = (a: Usage, b: Usage): Usage => ({
  prompt_tokens: a.prompt_tokens + b.prompt_tokens,
  completion_tokens: a.completion_tokens + b.completion_tokens,
  total_tokens: a.total_tokens + b.total_tokens,
})

interface PartialCall {
  id: string
  name: string
  arguments: string
}

/** Collects the chunks of one answer. */
export class Turn {
  readonly #calls = new Map<unknown, PartialCall>()
  #content = ''
  #usage: Usage | null = null
  #isFinished = false
  #isEndShown = false
  #last: ChunkValue = {}

  /** Text of the answer. */
  get content(): string {
    return this.#content
  }

  /** null: the provider counted none. */
  get usage(): Usage | null {
    return this.#usage
  }

  /** True if the provider ended the answer. */
  get isFinished(): boolean {
    return this.#isFinished
  }

  /** True if the client got the end of the answer. */
  get isEndShown(): boolean {
    return this.#isEndShown
  }

  /** The last chunk, with its id, time and model. */
  get last(): ChunkValue {
    return this.#last
  }

  /** The calls, ascending by their index. */
  get calls(): readonly Call[] {
    return [...this.#calls]
      .sort(([a], [b]) => Number(a) - Number(b))
      .map(([, call]) => ({
        ...call,
        arguments: call.arguments.length > CALL_CHARS_MAX ? '' : call.arguments,
      }))
  }

  /** Notes the end of the stream. */
  finish(): null {
    this.#isFinished = true
    return null
  }

  /** Takes a chunk. Returns what of it is for the client; null if nothing is. @throws ChatFailure */
  take(chunk: Chunk): Chunk | null {
    const { value } = chunk
    this.#usage = usageOf(value.usage) ?? this.#usage
    const [choice] = Array.isArray(value.choices) ? value.choices : []
    if (typeof choice !== 'object' || choice === null) return null
    this.#last = value
    const { delta, finish_reason: end = null } = choice
    const { tool_calls: calls, function_call: older, ...rest } = delta ?? {}
    if (typeof rest.content === 'string') this.#add(rest.content)
    const parts = callParts(calls)
    for (const part of parts) this.#addCall(part)
    if (end !== null) this.#isFinished = true
    const endsWithCalls =
      end !== null && (this.#calls.size > 0 || end === 'tool_calls' || end === 'function_call')
    if (end !== null && !endsWithCalls) this.#isEndShown = true
    if (parts.length === 0 && older === undefined && !endsWithCalls) return chunk
    // The client gets neither calls nor the end of a turn with calls: its answer continues with the next turn.
    if (!rest.content && !this.#isEndShown) return null
    return madeChunk({
      ...value,
      choices: [{ ...choice, delta: rest, finish_reason: endsWithCalls ? null : end }],
    })
  }

  #add(content: string): void {
    this.#content += content
    if (this.#content.length > ANSWER_CHARS_MAX)
      throw badAnswer('answer_too_large', `the provider sent more than ${ANSWER_CHARS_MAX} characters`)
  }

  #addCall(part: CallPart): void {
    const { id, function: called } = part
    const key = this.#keyOf(part)
    let call = this.#calls.get(key)
    if (call === undefined) {
      if (this.#calls.size >= CALLS_PER_ROUND_MAX) return
      call = {
        id: typeof id === 'string' && id !== '' ? id : `call_${randomUUID()}`,
        name: '',
        arguments: '',
      }
      this.#calls.set(key, call)
    }
    // Some providers repeat the name in each part.
    if (call.name === '' && typeof called?.name === 'string') call.name = called.name
    const more = called?.arguments
    if (more === undefined || more === null || call.arguments.length > CALL_CHARS_MAX) return
    call.arguments += typeof more === 'string' ? more : JSON.stringify(more)
  }

  /** Returns the index of a call. Some providers send none, and all of a call in one part. */
  #keyOf({ index, id }: CallPart): number {
    if (typeof index === 'number') return index
    const known = [...this.#calls].find(([, call]) => call.id === id)
    if (known !== undefined) return Number(known[0])
    return id === undefined && this.#calls.size > 0 ? this.#calls.size - 1 : this.#calls.size
  }
}

/** Returns the calls in a chunk. @throws ChatFailure if they are no list of objects */
function callParts(calls: unknown): readonly CallPart[] {
  if (calls === undefined || calls === null) return []
  if (Array.isArray(calls) && calls.every((call) => typeof call === 'object' && call !== null)) return calls
  const shown = cutText(JSON.stringify(calls), 200)
  throw badAnswer('json_deserialize_error', `the provider sent \`tool_calls\` that are no calls: ${shown}`)
}

function usageOf(value: unknown): Usage | null {
  if (typeof value !== 'object' || value === null) return null
  const count = (name: keyof Usage): number => {
    const tokens = (value as Partial<Usage>)[name]
    return typeof tokens === 'number' && tokens >= 0 && Number.isFinite(tokens) ? tokens : 0
  }
  const [prompt, completion] = [count('prompt_tokens'), count('completion_tokens')]
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: count('total_tokens') || prompt + completion,
  }
}
