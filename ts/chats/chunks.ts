/** Reads the answers of providers: server-sent events with chunks, or one JSON object. */
import { TextDecoder } from 'node:util'
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { cutText } from '../parse/index.js'
import { badAnswer, errorEvent } from './failure.js'
import { EVENT_CHARS_MAX } from './limits.js'

/** A call of a tool, or a part of it. */
export interface CallPart {
  readonly index?: unknown
  readonly id?: unknown
  readonly function?: { readonly name?: unknown; readonly arguments?: unknown }
}

/** A part of an answer, as providers send it. */
export interface ChunkValue {
  readonly id?: unknown
  readonly created?: unknown
  readonly model?: unknown
  readonly choices?: readonly ChunkChoice[]
  readonly usage?: unknown
}

type ChunkDelta = Readonly<Record<string, unknown>> & { readonly tool_calls?: readonly CallPart[] | null }

interface ChunkChoice {
  readonly index?: unknown
  readonly delta?: ChunkDelta | null
  readonly finish_reason?: string | null
}

export interface Chunk {
  /** The JSON as sent, on one line. */
  readonly text: string
  readonly value: ChunkValue
}

export const madeChunk = (value: ChunkValue): Chunk => ({ text: JSON.stringify(value), value })

/** Yields the chunks of a stream. `done`: the stream is complete. @throws ChatFailure for a malformed stream or an error event */
export async function* chunksOf(
  body: AsyncIterable<Uint8Array>,
  secret: string | null,
): AsyncGenerator<Chunk | 'done'> {
  let events: EventSourceMessage[] = []
  let mistake: string | null = null
  const parser = createParser({
    maxBufferSize: EVENT_CHARS_MAX,
    onEvent: (event) => void events.push(event),
    onError: (error) => {
      mistake ??= error.message
    },
  })
  const decoder = new TextDecoder('utf-8', { fatal: true })
  for await (const bytes of body) {
    parser.feed(decoded(decoder, bytes))
    const arrived = events
    events = []
    for (const { data } of arrived) {
      if (data === '[DONE]') {
        yield 'done'
        return
      }
      yield chunkOf(data, secret)
    }
    if (mistake !== null)
      throw badAnswer(
        'parser_error',
        `the stream of the provider cannot be read: ${cutText(String(mistake), 200)}`,
      )
  }
  decoded(decoder)
}

function decoded(decoder: TextDecoder, bytes?: Uint8Array): string {
  try {
    return bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true })
  } catch {
    throw badAnswer('invalid_utf8_error', 'the provider sent bytes that are not UTF-8')
  }
}

function chunkOf(data: string, secret: string | null): Chunk {
  const value = objectIn(data)
  const failure = errorEvent(value, secret)
  if (failure !== null) throw failure
  return { text: data.includes('\n') ? JSON.stringify(value) : data, value: value as ChunkValue }
}

/** Returns a complete answer as a single chunk. @throws ChatFailure */
export function wholeAnswer(body: Uint8Array, secret: string | null): Chunk {
  const answer = objectIn(decoded(new TextDecoder('utf-8', { fatal: true }), body))
  const failure = errorEvent(answer, secret)
  if (failure !== null) throw failure
  const { id, created, model, usage, choices } = answer as ChunkValue
  const [choice] = (Array.isArray(choices) ? choices : []) as readonly {
    readonly message?: ChunkDelta | null
    readonly finish_reason?: string
  }[]
  if (!choice?.message)
    throw badAnswer('json_deserialize_error', 'the provider sent JSON that is not a chat completion')
  const value = {
    ...{ id, object: 'chat.completion.chunk', created, model },
    choices: [{ index: 0, delta: choice.message, finish_reason: choice.finish_reason ?? 'stop' }],
    usage,
  }
  return madeChunk(value)
}

function objectIn(json: string): object {
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch {
    throw badAnswer(
      'json_deserialize_error',
      `the provider sent an event that is not JSON: ${cutText(json, 200)}`,
    )
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  throw badAnswer('json_deserialize_error', `the provider sent JSON that is no object: ${cutText(json, 200)}`)
}
