/** Answers MCP messages over HTTP, without sessions: each request has a protocol server of its own. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Api } from './api.js'
import type { McpSetup } from './server.js'

interface McpRequest {
  readonly headers: IncomingHttpHeaders
  /** The parsed JSON body. */
  readonly body: unknown
  /** The API with the key of the request. */
  readonly api: Api
  /** Aborts the tools when the client disconnects. */
  readonly signal: AbortSignal
}

interface McpAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Empty for notifications. */
  readonly body: Buffer
}

export interface McpEndpoint {
  answer(request: McpRequest): Promise<McpAnswer>
  close(): Promise<void>
}

/** Headers of the protocol that requests may carry. */
const protocolHeaders = ['mcp-protocol-version', 'mcp-method', 'mcp-name'] as const

/** Loads the protocol library. It serves the revision 2026-07-28, and older ones that begin with `initialize`. */
export async function openMcpEndpoint(setup: McpSetup): Promise<McpEndpoint> {
  const [{ protocolServer }, library] = await Promise.all([
    import('./server.js'),
    import('@modelcontextprotocol/server'),
  ])
  const apis = new WeakMap<Request, Api>()
  const modern = library.createMcpHandler(
    ({ requestInfo }) => protocolServer(setup, apiOf(apis, requestInfo)),
    // Nothing is subscribed to: resources and tools are read again when a client's copy is too old.
    { legacy: 'reject', maxSubscriptions: 0 },
  )

  /** Answers requests of older revisions with JSON, where the library's own handler would stream. */
  async function older(request: Request, body: unknown, api: Api): Promise<Response> {
    const transport = new library.WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
    const server = protocolServer(setup, api)
    await server.connect(transport)
    const close = (): void => void server.close().catch(() => undefined)
    request.signal.addEventListener('abort', close, { once: true })
    try {
      return await transport.handleRequest(request, { parsedBody: withoutCancellations(body) })
    } finally {
      request.signal.removeEventListener('abort', close)
      close()
    }
  }

  return {
    async answer({ headers, body, api, signal }) {
      const request = requestOf(headers, signal)
      apis.set(request, api)
      const response = (await library.isLegacyRequest(request, body))
        ? await older(request, body, api)
        : await modern.fetch(request, { parsedBody: body })
      const type = response.headers.get('content-type')
      return {
        status: response.status,
        headers: type === null ? {} : { 'content-type': type },
        body: Buffer.from(await response.arrayBuffer()),
      }
    },
    close: () => modern.close(),
  }
}

/**
 * Removes cancellations from a batch. They could only cancel calls of the same batch, and the library never answers a
 * batch with a cancelled call.
 */
function withoutCancellations(body: unknown): unknown {
  if (!Array.isArray(body)) return body
  const kept = body.filter((message) => message?.method !== 'notifications/cancelled')
  return kept.length === 0 ? body : kept
}

function apiOf(apis: WeakMap<Request, Api>, request: Request | undefined): Api {
  const api = request === undefined ? undefined : apis.get(request)
  if (api === undefined) throw new Error('a protocol server was asked for outside a request')
  return api
}

/** Returns the request without its body, which the library gets parsed. */
function requestOf(headers: IncomingHttpHeaders, signal: AbortSignal): Request {
  const given = protocolHeaders.flatMap((name): [string, string][] => {
    const value = headers[name]
    return typeof value === 'string' ? [[name, value]] : []
  })
  return new Request('http://localhost/mcp', {
    method: 'POST',
    headers: [
      ...given,
      ['content-type', 'application/json'],
      // The answer is always JSON, so clients need not accept streams.
      ['accept', 'application/json, text/event-stream'],
    ],
    body: '{}',
    signal,
  })
}
