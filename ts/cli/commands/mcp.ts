/** `siftd mcp`: gives an agent tools to search, on the standard input and output. */
import { LaunchError, packageVersion } from '../../launch/index.js'
import { type Api, serveMcpStdio } from '../../mcp/index.js'
import { type Outbound, OutboundError, openOutbound } from '../../outbound/index.js'
import { withoutTrailing } from '../../parse/index.js'
import { defineCommand, examples, Option, serverOf } from '../command/index.js'
import { onServer } from './service.js'

/** Milliseconds and bytes of one call of a tool. */
const CALL_MS_MAX = 60_000
const ANSWER_BYTES_MAX = 64_000_000

export const mcp = defineCommand('mcp', (command) =>
  onServer(command)
    .description(`Gives an agent tools to search, by the Model Context Protocol on the standard input and output.

Programs such as Claude Desktop start this command themselves. The tools have the rights of the key. With --db-path the command
opens a data directory that no server uses.`)
    .addOption(new Option('--db-path <directory>', 'Opens a data directory instead of calling a server'))
    .option('--writes', 'Adds tools that add and delete documents and change settings')
    .addHelpText(
      'after',
      examples(`
        siftd mcp --url http://localhost:7700 --key-file search.key
        siftd mcp --db-path ./data.ms
        claude mcp add films -- siftd mcp --url http://localhost:7700`),
    )
    .action(async ({ dbPath, writes = false, ...options }) => {
      const stop = new AbortController()
      for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort())
      const setup = { version: packageVersion(), writes }
      if (dbPath === undefined) {
        const { url, key } = serverOf(options)
        // The user chose the address, so private addresses are allowed.
        const outbound = openOutbound({ allowedNetworks: 'any' })
        try {
          await serveMcpStdio(setup, apiOver(outbound, withoutTrailing(url, '/'), key), stop.signal)
        } finally {
          await outbound.close()
        }
        return
      }
      const { url, key, keyFile } = options
      if (url !== undefined || key !== undefined || keyFile !== undefined)
        throw new LaunchError('--db-path excludes --url, --key and --key-file', 2)
      const { openAtRest } = await import('./at-rest.js')
      const directory = await openAtRest(dbPath, { processesTasks: writes })
      try {
        await serveMcpStdio(setup, apiOver(directory, 'http://directory.invalid', null), stop.signal)
      } finally {
        await directory.close()
      }
    }),
)

/** Calls a server or a directory with a key. Only the routes check the rights of the key. */
function apiOver(outbound: Pick<Outbound, 'call'>, url: string, key: string | null): Api {
  return {
    async call({ method, path, body, signal }) {
      try {
        const { status, body: bytes } = await outbound.call({
          method,
          url: `${url}${path}`,
          headers: {
            ...(key !== null && { authorization: `Bearer ${key}` }),
            ...(body !== undefined && { 'content-type': 'application/json' }),
          },
          ...(body !== undefined && { body: JSON.stringify(body) }),
          timeoutMs: CALL_MS_MAX,
          answerBytesMax: ANSWER_BYTES_MAX,
          signal,
        })
        return { status, bytes }
      } catch (error) {
        if (!(error instanceof OutboundError)) throw error
        const { origin } = new URL(url)
        const message = `the server at ${origin} gave no answer: ${error.message}; is it running?`
        return { status: 502, bytes: Buffer.from(JSON.stringify({ message, code: 'unreachable' })) }
      }
    },
    allows: async () => true,
  }
}
