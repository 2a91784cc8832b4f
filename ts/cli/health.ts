import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { addressText, LaunchError, type LaunchOptions, launchMistakes, machine } from '../launch/index.js'
import { defineCommand, examples } from './command/index.js'
import { textOf } from './text-of.js'

/** Milliseconds after which a server without an answer counts as hung. Container probes wait about as long. */
const ANSWER_MS_MAX = 4_000

export const health = defineCommand('health', (command, output) =>
  command
    .description(`Checks that the server on this machine or container answers.

Reads the address like a start, from the environment and the configuration file, and calls GET /health there. Needs no key
and does not check the certificate, since it calls this machine. The exit code is 0 if the server is available, 1 if it is
not, 2 for wrong usage.

With --ready it calls GET /ready, which fails while a follower lags behind its leader. Send clients to another server then,
and do not restart this one.`)
    .option('--ready', 'Checks that clients should be sent to the server')
    .option('--config-file-path <file>', 'The configuration file (default: ./config.toml if it exists)')
    .addHelpText(
      'after',
      examples(`
        siftd health
        siftd health --ready
        SVC_HTTP_ADDR=0.0.0.0:8000 siftd health          a server with this address in its environment
        HEALTHCHECK CMD ["/usr/local/bin/siftd", "health"]`),
    )
    .action(async ({ configFilePath, ready }) => {
      const { mistakes, run } = launchMistakes({
        args: configFilePath === undefined ? [] : ['--config-file-path', configFilePath],
        env: process.env,
        readFile: textOf,
        machine: machine(),
      })
      const [mistake] = mistakes
      if (mistake !== undefined) throw mistake
      const { httpAddr } = run.options
      if (httpAddr.port === 0)
        throw new LaunchError(
          'health: the address has port 0, so the actual port of the server is not known',
          2,
        )
      const fault = await faultOf(run.options, ready === true ? '/ready' : '/health')
      const address = addressText(httpAddr)
      output.line(`${address}: ${fault ?? (ready === true ? 'ready' : 'available')}`)
      if (fault !== null) output.finding()
    }),
)

/** Returns the fault of the server at the address of `options`; null: none. */
function faultOf(options: LaunchOptions, path: '/health' | '/ready'): Promise<string | null> {
  const { httpAddr, sslCertPath, sslRequireAuth } = options
  const target = {
    host: reachable(httpAddr.host),
    port: httpAddr.port,
    path,
    signal: AbortSignal.timeout(ANSWER_MS_MAX),
  }
  return new Promise((resolve) => {
    const request =
      sslCertPath === null ? requestHttp(target) : requestHttps({ ...target, rejectUnauthorized: false })
    request.on('response', (response) => {
      response.resume()
      resolve(response.statusCode === 200 ? null : `answers with status ${response.statusCode}`)
    })
    request.on('error', (error: NodeJS.ErrnoException) => {
      const { code = error.name } = error
      if (error.name === 'AbortError')
        return resolve(`does not answer within ${ANSWER_MS_MAX / 1000} seconds`)
      // This command has no client certificate. A server that demands one is running.
      const isRefusedClient = sslRequireAuth && code.includes('CERTIFICATE_REQUIRED')
      return resolve(isRefusedClient ? null : `does not answer: ${code}`)
    })
    request.end()
  })
}

/** Replaces wildcard addresses, which some systems cannot connect to. */
const reachable = (host: string): string =>
  (({ '0.0.0.0': '127.0.0.1', '::': '::1' }) as Readonly<Record<string, string>>)[host] ?? host
