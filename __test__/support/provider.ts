import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ExecutionContext } from 'ava'

/** One request that a provider got. */
export interface Call {
  readonly headers: IncomingHttpHeaders
  /** Names and values in turn, as they came. */
  readonly rawHeaders: readonly string[]
  readonly path: string
  readonly body: unknown
}

/** What a provider answers: JSON with status 200, or anything else in full. */
export type ProviderAnswer =
  | unknown[]
  | Readonly<Record<string, unknown>>
  | { readonly status: number; readonly text: string; readonly headers?: Readonly<Record<string, string>> }

export interface TestProvider {
  readonly url: string
  readonly calls: readonly Call[]
}

const isWhole = (
  answer: object,
): answer is { status: number; text: string; headers?: Record<string, string> } =>
  'status' in answer && 'text' in answer

/**
 * A place that makes vectors.
 * @param answer to each call, by its number from 0; null: never any
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
      // A call that was given up may end before its body came.
      if (chunks.length === 0) return
      const body: unknown = JSON.parse(Buffer.concat(chunks).toString())
      const { headers, rawHeaders } = request
      const call = { headers, rawHeaders, path: request.url ?? '', body }
      const given = await answer(call, calls.push(call) - 1)
      if (given === null) return
      if (isWhole(given)) response.writeHead(given.status, given.headers).end(given.text)
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

/** Two components that tell texts apart: how long it is, and where its first letter is in the alphabet. */
export const vectorOf = (text: unknown): readonly number[] => {
  const shown = typeof text === 'string' ? text : JSON.stringify(text)
  return [shown.length, shown.charCodeAt(0) - 96]
}
