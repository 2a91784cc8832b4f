/** A provider of chat completions that follows a script. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import { setImmediate as turn } from 'node:timers/promises'
import type { ExecutionContext } from 'ava'
import { listening } from './listening.js'

/** A request that the provider received. */
export interface ProviderCall {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  // biome-ignore lint/suspicious/noExplicitAny: tests read any member
  readonly body: any
}

/** An answer: its pieces, each written on its own. */
export interface Script {
  readonly status?: number
  readonly type?: string
  readonly pieces: readonly (string | Buffer)[]
  /** The answer waits for it. */
  readonly after?: Promise<unknown>
  /** True if the answer never ends. */
  readonly stalls?: boolean
  /** True if the connection is cut after the pieces. */
  readonly cuts?: boolean
}

export interface ChatProvider {
  readonly url: string
  readonly calls: readonly ProviderCall[]
  /** Answers whose client closed the connection before their end. */
  readonly aborted: () => number
  /** Resolves when a call has arrived that was not awaited before. */
  readonly nextCall: () => Promise<ProviderCall>
}

const base = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_700_000_000, model: 'test-1' }

/** The JSON of a chunk. */
export const chunkJson = (delta: object, end: string | null = null): string =>
  JSON.stringify({ ...base, choices: [{ index: 0, delta, finish_reason: end }] })

export const usageJson = (prompt: number, completion: number): string =>
  JSON.stringify({
    ...base,
    choices: [],
    usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion },
  })

export const eventOf = (json: string): string => `data: ${json}\n\n`
export const DONE = 'data: [DONE]\n\n'

/** An answer with these texts. */
export const says = (...texts: readonly string[]): Script => ({
  pieces: [
    eventOf(chunkJson({ role: 'assistant', content: '' })),
    ...texts.map((content) => eventOf(chunkJson({ content }))),
    eventOf(chunkJson({}, 'stop')),
    eventOf(usageJson(10, 5)),
    DONE,
  ],
})

/** Asks for calls of tools. Arguments that are a list arrive in fragments. */
export const asks = (
  ...calls: readonly {
    readonly id: string
    readonly name?: string
    readonly arguments: object | string | readonly string[]
  }[]
): Script => ({
  pieces: [
    ...calls.flatMap(({ id, name = '_meiliSearchInIndex', arguments: given }, index) => {
      const fragments = Array.isArray(given)
        ? (given as readonly string[])
        : [typeof given === 'string' ? given : JSON.stringify(given)]
      const part = (call: object): string => eventOf(chunkJson({ tool_calls: [{ index, ...call }] }))
      return [
        part({ id, type: 'function', function: { name, arguments: '' } }),
        ...fragments.map((text) => part({ function: { arguments: text } })),
      ]
    }),
    eventOf(chunkJson({}, 'tool_calls')),
    eventOf(usageJson(100, 20)),
    DONE,
  ],
})

/** The same answer, one byte at a time. */
export const byteByByte = (script: Script): Script => ({
  ...script,
  pieces: script.pieces.flatMap((piece) => [...Buffer.from(piece)].map((byte) => Buffer.from([byte]))),
})

/** Starts a provider. @param answer the script for each call, numbered from 0 */
export async function startChatProvider(
  t: ExecutionContext,
  answer: (call: ProviderCall, number: number) => Script,
): Promise<ChatProvider> {
  const calls: ProviderCall[] = []
  const arrived: ProviderCall[] = []
  const waiting: ((call: ProviderCall) => void)[] = []
  let aborted = 0
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString()
      const call = { path: request.url ?? '', headers: request.headers, body: JSON.parse(text || 'null') }
      const script = answer(call, calls.push(call) - 1)
      const waiter = waiting.shift()
      if (waiter === undefined) arrived.push(call)
      else waiter(call)
      response.on('close', () => {
        if (!response.writableFinished) aborted += 1
      })
      void play(script, response)
    })
  })
  const url = await listening(t, server)
  return {
    url: `${url}/v1`,
    calls,
    aborted: () => aborted,
    nextCall: () => {
      const call = arrived.shift()
      return call === undefined ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(call)
    },
  }
}

async function play(script: Script, response: ServerResponse): Promise<void> {
  const { status = 200, type = 'text/event-stream', pieces, stalls = false, cuts = false } = script
  await script.after
  response.socket?.setNoDelay(true)
  response.writeHead(status, { 'content-type': type }).flushHeaders()
  for (const piece of pieces) {
    response.write(piece)
    // Sends each piece in a packet of its own.
    await turn()
  }
  if (cuts) response.socket?.destroy()
  else if (!stalls) response.end()
}
