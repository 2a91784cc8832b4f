/** A server with films, a reranker of theirs, and its service. */
import type { ExecutionContext } from 'ava'
import { type Call, type ProviderAnswer, startProvider, type TestProvider } from '../support/provider.js'
import { startServer, type TestBody, type TestServer, type TestServerOptions } from '../support/server.js'

export interface Asked {
  readonly query: string
  readonly documents: readonly string[]
  readonly model?: string
}

export const askedIn = ({ body }: Call): Asked => body as Asked

/** Ranks the documents in reverse. */
export const reversed = (call: Call): ProviderAnswer => {
  const { length } = askedIn(call).documents
  return {
    results: Array.from({ length }, (_, at) => ({
      index: length - 1 - at,
      relevance_score: 1 - at / length,
    })),
  }
}

export interface World {
  readonly server: TestServer
  readonly provider: TestProvider
  search(body: object): Promise<TestBody>
}

export const FILMS = [1, 2, 3, 4, 5].map((id) => ({
  ...{ id, title: `film ${'x '.repeat(id)}`.trim(), secret: `hidden ${id}`, n: 10 * id },
}))

export async function world(
  t: ExecutionContext,
  answer: (call: Call, number: number) => ProviderAnswer | null,
  options: TestServerOptions & { readonly settings?: object; readonly reranker?: object } = {},
): Promise<World> {
  const { settings = {}, reranker = {}, ...setup } = options
  const provider = await startProvider(t, answer)
  const server = await startServer(t, {
    allowedNetworks: ['127.0.0.0/8'],
    features: ['dynamicSearchRules', 'metrics'],
    personalization: { url: `${provider.url}/personal`, apiKey: 'personal-key', model: 'taste' },
    ...setup,
  })
  await server.settle(
    t,
    server.patch('/indexes/films/settings', {
      displayedAttributes: ['id', 'title', 'n'],
      // No time limit passes on a busy machine, unless a test sets its own.
      searchCutoffMs: 60_000,
      rerankers: {
        m: {
          source: 'rest',
          url: `${provider.url}/rank`,
          apiKey: 'key-of-the-model',
          model: 'x',
          timeoutMs: 30_000,
          ...reranker,
        },
      },
      ...settings,
    }),
  )
  // More digits than a number of JavaScript has.
  const documents = JSON.stringify(FILMS).replace('"n":30', '"n":12345678901234567890')
  await server.settle(t, server.post('/indexes/films/documents', documents))
  const search = async (body: object) => (await server.post('/indexes/films/search', body)).body
  return { server, provider, search }
}

export const ids = ({ hits }: Pick<TestBody, 'hits'>): readonly unknown[] => hits.map(({ id }) => id)
