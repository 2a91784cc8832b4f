/** Serves MCP on the standard input and output of this process. */
import type { Api } from './api.js'
import type { McpSetup } from './server.js'

/** Serves until the input ends or `signal` aborts. Nothing but messages is written to the standard output. */
export async function serveMcpStdio(setup: McpSetup, api: Api, signal: AbortSignal): Promise<void> {
  const [{ protocolServer }, { serveStdio }] = await Promise.all([
    import('./server.js'),
    import('@modelcontextprotocol/server/stdio'),
  ])
  const ended = new Promise<void>((resolve) => {
    for (const event of ['end', 'close'] as const) process.stdin.once(event, () => resolve())
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
  const handle = serveStdio(() => protocolServer(setup, api), { maxSubscriptions: 0 })
  await ended
  await handle.close()
}
