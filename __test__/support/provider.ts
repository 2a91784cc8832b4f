import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ExecutionContext } from 'ava'

/** A request that a provider received. */
export interface Call {
  readonly headers: IncomingHttpHeaders
  /** Alternating names and values, as received. */
  readonly rawHeaders: readonly string[]
  readonly path: string
  readonly body: unknown
}

/** Answer of a provider: JSON for status 200, or a complete answer. */
export type ProviderAnswer =
  | unknown[]
  | Readonly<Record<string, unknown>>
  | { readonly status: number; readonly text: string; readonly headers?: Readonly<Record<string, string>> }

export interface TestProvider {
  readonly url: string
  readonly calls: readonly Call[]
}

const isCompleteAnswer = (
  answer: object,
): answer is { status: number; text: string; headers?: Record<string, string> } =>
  'status' in answer && 'text' in answer

/**
 * Starts an embedding provider.
 * @param answer answer to each call, numbered from 0; null never answers
 */
export async function startProvider(
  t: ExecutionContext,
  answer: (call: Call, number: number) => ProviderAnswer | null | Promise<ProviderAnswer | null>,
): Promise<TestProvider> {
  const calls: Call[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', async () => {
      // An aborted call may end before its body arrives.
      if (chunks.length === 0) return
      const body: unknown = JSON.parse(Buffer.concat(chunks).toString())
      const { headers, rawHeaders } = request
      const call = { headers, rawHeaders, path: request.url ?? '', body }
      const given = await answer(call, calls.push(call) - 1)
      if (given === null) return
      if (isCompleteAnswer(given)) response.writeHead(given.status, given.headers).end(given.text)
      else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(given))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, calls }
}

/** Returns a vector with two components: length of the text, and position of its first letter in the alphabet. */
export const vectorOf = (text: unknown): readonly number[] => {
  const shown = typeof text === 'string' ? text : JSON.stringify(text)
  return [shown.length, shown.charCodeAt(0) - 96]
}
