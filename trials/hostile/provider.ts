import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface HostileProvider {
  readonly url: string
  close(): void
}

const DIMENSIONS = 3

const answers: Readonly<Record<string, (response: ServerResponse) => void>> = {
  '/embed': (response) => json(response, JSON.stringify({ embeddings: [Array(DIMENSIONS).fill(0.5)] })),
  '/deep': (response) => json(response, '['.repeat(5_000_000)),
  '/wide': (response) => json(response, `[${'1,'.repeat(2_500_000)}1]`),
  '/names': (response) => json(response, '{"__proto__":{"embeddings":[[1,2,3]]},"constructor":[]}'),
  '/broken': (response) => json(response, '{"embeddings":[[1,2'),
  '/failing': (response) => response.writeHead(500).end('{"error":"broken"}'),
  '/elsewhere': (response) => response.writeHead(302, { location: '/elsewhere' }).end(),
  '/endless': (response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const more = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536, ' ')));
    }
    response.on('drain', more)
    more()
  },
  '/silent': () => undefined,
}

/** Paths of a healthy and of several faulty providers. */
export const providerPaths = Object.keys(answers)

function json(response: ServerResponse, text: string): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(text)
}

/** Acts as embedder, remote instance, export target and webhook. The path selects healthy or faulty answers. */
export async function startHostileProvider(): Promise<HostileProvider> {
  const server = createServer((request, response) => {
    request.on('error', () => undefined)
    request.resume()
    request.once('end', () => {
      const path = request.url?.split('?')[0] ?? ''
      const answer = Object.hasOwn(answers, path) ? answers[path] : undefined
      if (answer === undefined) json(response, '{}')
      else answer(response)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
