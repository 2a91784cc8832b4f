/** A server with the sample films and an official MCP client. */
import { createHmac } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { ExecutionContext } from 'ava'
import { startServer, type TestServer, type TestServerOptions } from '../support/server.js'

export const masterKey = 'a-master-key-of-20-b'

/** Protocol eras: `legacy` opens with `initialize`, `modern` is the revision 2026-07-28. */
export type Era = 'legacy' | 'modern'

export const filmSettings = {
  searchableAttributes: ['title', 'overview', 'director', 'genres'],
  filterableAttributes: ['genres', 'year', 'rating', 'director'],
  sortableAttributes: ['year', 'rating'],
}

export const films = async (): Promise<readonly Readonly<Record<string, unknown>>[]> =>
  (await readFile(new URL('../../../samples/films.ndjson', import.meta.url), 'utf8'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)

export async function startFilms(t: ExecutionContext, options: TestServerOptions = {}): Promise<TestServer> {
  const server = await startServer(t, { features: ['mcpRoute'], ...options })
  await server.settle(t, server.patch('/indexes/films/settings', filmSettings))
  await server.settle(t, server.post('/indexes/films/documents', await films()))
  return server
}

export async function connect(
  t: ExecutionContext,
  server: TestServer,
  { era = 'modern', key }: { readonly era?: Era; readonly key?: string | undefined } = {},
): Promise<Client> {
  const mode = era === 'legacy' ? ('legacy' as const) : { pin: '2026-07-28' }
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` }
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), { requestInit: { headers } }),
  )
  t.teardown(() => client.close())
  return client
}

/** The answer of a tool as an object. */
export interface ToolAnswer {
  readonly isError: boolean
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: answers have any shape, and a missing member fails an assertion
  readonly value: any
}

export async function callTool(client: Client, name: string, args: object = {}): Promise<ToolAnswer> {
  const {
    isError = false,
    content,
    structuredContent,
  } = await client.callTool({
    name,
    arguments: args as Record<string, unknown>,
  })
  const [first] = content as readonly { readonly text: string }[]
  return { isError: isError === true, text: first?.text ?? '', value: structuredContent }
}

/** Creates a key. @returns its uid and value */
export async function keyFor(server: TestServer, actions: readonly string[], indexes = ['*']) {
  const { body } = await server.post('/keys', { actions, indexes, expiresAt: null })
  return { uid: String(body.uid), key: body.key }
}

export function tenantToken({ uid, key }: { uid: string; key: string }, searchRules: object): string {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const text = `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ apiKeyUid: uid, searchRules })}`
  return `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`
}
