/** A server with films, a workspace and a scripted provider. */
import { request as httpRequest } from 'node:http'
import type { ExecutionContext } from 'ava'
import {
  type ChatProvider,
  type ProviderCall,
  type Script,
  startChatProvider,
} from '../support/chat-provider.js'
import { startServer, type TestServer, type TestServerOptions } from '../support/server.js'

export const films = [
  { id: 1, title: 'Batman Returns', series: 'batman', year: 1992, secret: 'alpha' },
  { id: 2, title: 'Batman and Superman', series: 'superman', year: 1978, secret: 'beta' },
  { id: 3, title: 'Solaris', series: 'none', year: 1972, secret: 'gamma' },
]

export interface ChatWorld {
  readonly server: TestServer
  readonly provider: ChatProvider
}

/** Starts a server with the indexes `films` and `books`, and a workspace `w` whose provider follows the script. */
export async function startChats(
  t: ExecutionContext,
  answer: (call: ProviderCall, number: number) => Script,
  options: TestServerOptions = {},
): Promise<ChatWorld> {
  const provider = await startChatProvider(t, answer)
  const server = await startServer(t, {
    features: ['chatCompletions'],
    allowedNetworks: ['127.0.0.0/8'],
    ...options,
  })
  await server.settle(
    t,
    server.patch('/indexes/films/settings', {
      filterableAttributes: ['series', 'year'],
      displayedAttributes: ['id', 'title', 'series', 'year'],
      chat: {
        description: 'films of the last century',
        documentTemplate: '{{ doc.title }} ({{ doc.year }})',
      },
    }),
  )
  await server.settle(t, server.post('/indexes/films/documents', films))
  await server.settle(t, server.post('/indexes/books/documents', [{ id: 1, title: 'A book' }]))
  const settings = { source: 'vLlm', baseUrl: provider.url, apiKey: 'sk-test-placeholder-api-key' }
  const { status } = await server.patch('/chats/w/settings', settings)
  if (status !== 200) throw new Error(`the workspace was not created: ${status}`)
  return { server, provider }
}

export const messages = [{ role: 'user', content: 'which film has batman?' }]

/** The tools by which a client asks for all events. */
export const everyTool = [
  '_meiliSearchProgress',
  '_meiliAppendConversationMessage',
  '_meiliSearchSources',
].map((name) => ({ type: 'function', function: { name, description: 'd', parameters: {} } }))

export const question = (more: object = {}): object => ({ model: 'test-1', stream: true, messages, ...more })

/** The data of the events in an answer. */
export const eventsIn = (bytes: Buffer): readonly string[] =>
  bytes
    .toString()
    .split('\n\n')
    .filter((event) => event !== '')
    .map((event) => event.replace(/^data: /, ''))

/** An event of a search: the name of its tool and its arguments. */
export interface SearchEvent {
  readonly name: string
  // biome-ignore lint/suspicious/noExplicitAny: events have any members
  readonly content: any
}

/** Returns the events of searches among the events of an answer. */
export const searchEvents = (events: readonly string[]): readonly SearchEvent[] =>
  events.flatMap((json) => {
    if (json === '[DONE]') return []
    const [choice] = JSON.parse(json).choices ?? []
    return (choice?.delta?.tool_calls ?? []).map(
      ({ function: called }: { function: { name: string; arguments: string } }) => ({
        name: called.name,
        content: JSON.parse(called.arguments),
      }),
    )
  })

/** Asks and reads the stream. */
export async function ask(server: TestServer, more: object = {}, key?: string): Promise<readonly string[]> {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` }
  const { bytes, status } = await server.post('/chats/w/chat/completions', question(more), { headers })
  if (status !== 200) throw new Error(bytes.toString())
  return eventsIn(bytes)
}

/** The text of an answer. */
export const textOf = (events: readonly string[]): string =>
  events
    .filter((json) => json !== '[DONE]')
    .map((json) => JSON.parse(json).choices?.[0]?.delta?.content ?? '')
    .join('')

/** Opens a stream without reading its end. Resolves with the first bytes. */
export function opened(
  server: TestServer,
  more: object = {},
): Promise<{ readonly first: string; readonly close: () => void; readonly rest: () => Promise<string> }> {
  const body = JSON.stringify(question(more))
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(
      `${server.url}/chats/w/chat/completions`,
      { method: 'POST', headers: { 'content-type': 'application/json' } },
      (answer) => {
        let text = ''
        answer.on('data', (chunk: Buffer) => {
          text += chunk.toString()
          resolve({
            first: text,
            close: () => outgoing.destroy(),
            rest: () => ended.then(() => text),
          })
        })
        const ended = new Promise<void>((end) => answer.once('close', end))
      },
    )
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}
