/** A server with an embedder, and its provider. */
import type { ExecutionContext } from 'ava'
import {
  type Call,
  type ProviderAnswer,
  startProvider,
  type TestProvider,
  vectorOf,
} from '../support/provider.js'
import { startServer, type TestBody, type TestServer } from '../support/server.js'

export type Answer = (call: Call, number: number) => ProviderAnswer | null | Promise<ProviderAnswer | null>

/** Takes single texts and returns bare vectors. */
export const single = { source: 'rest', request: '{{text}}', response: '{{embedding}}', dimensions: 2 }
export const batched = {
  ...single,
  request: { input: ['{{text}}', '{{..}}'] },
  response: { data: [{ embedding: '{{embedding}}' }, '{{..}}'] },
}
export const template = { documentTemplate: '{{doc.t}}' }

export const bare: Answer = ({ body }) => [...vectorOf(body)]
export const many: Answer = ({ body }) => ({
  data: (body as { input: unknown[] }).input.map((text) => ({ embedding: vectorOf(text) })),
})

export interface World {
  readonly server: TestServer
  readonly provider: TestProvider
  readonly waits: readonly number[]
  settings(embedders: object): Promise<TestBody>
  add(...documents: readonly object[]): Promise<TestBody>
  update(...documents: readonly object[]): Promise<TestBody>
  /** The `_vectors` of a document. */
  vectors(id: string): Promise<unknown>
  search(body: object): ReturnType<TestServer['post']>
}

export async function world(
  t: ExecutionContext,
  answer: Answer,
  embedder?: object,
  embedding: NonNullable<Parameters<typeof startServer>[1]>['embedding'] = {},
): Promise<World> {
  const provider = await startProvider(t, answer)
  const waits: number[] = []
  const server = await startServer(t, {
    allowedNetworks: ['127.0.0.0/8'],
    features: ['multimodal', 'compositeEmbedders'],
    embedding: {
      wait: async (ms) => {
        waits.push(ms)
      },
      ...embedding,
    },
  })
  const settings = (embedders: object) =>
    server.settle(t, server.patch('/indexes/i/settings/embedders', embedders))
  const made: World = {
    server,
    provider,
    waits,
    settings,
    add: (...documents) => server.settle(t, server.post('/indexes/i/documents', documents)),
    update: (...documents) => server.settle(t, server.put('/indexes/i/documents', documents)),
    async vectors(id) {
      const { body } = await server.get(`/indexes/i/documents/${id}?retrieveVectors=true`)
      return body._vectors
    },
    search: (body) => server.post('/indexes/i/search', body),
  }
  if (embedder !== undefined) {
    const task = await settings({ g: { url: provider.url, ...embedder } })
    t.is(task.status, 'succeeded', JSON.stringify(task.error))
  }
  return made
}

export const generated = (...embeddings: readonly (readonly number[])[]) => ({
  g: { embeddings, regenerate: true },
})
