import { type ClientRequest, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { addressText, LaunchError, type LaunchOptions, launchMistakes, machine } from '../launch/index.js'
import { trusting } from '../outbound/index.js'
import { isHttpUrl, withoutTrailing } from '../parse/index.js'
import { authoritiesOf, caOption, defineCommand, examples } from './command/index.js'
import { textOf } from './text-of.js'

/** Milliseconds after which a server without an answer counts as hung. Container probes wait about as long. */
const ANSWER_MS_MAX = 4_000

export const health = defineCommand('health', (command, output) =>
  command
    .description(`Checks that the server on this machine or container answers.

Reads the address like a start, from the environment and the configuration file, and calls GET /health there. Needs no key
and does not check the certificate, since it calls this machine; --url names another server, whose certificate is checked. The exit code is 0 if the server is available, 1 if it is
not, 2 for wrong usage.

With --ready it calls GET /ready, which fails while a follower lags behind its leader. Send clients to another server then,
and do not restart this one.`)
    .option('--ready', 'Checks that clients should be sent to the server')
    .option('--url <url>', 'The server to check (default: the one of this machine)')
    .addOption(caOption)
    .option('--config-file-path <file>', 'The configuration file (default: ./config.toml if it exists)')
    .addHelpText(
      'after',
      examples(`
        siftd health
        siftd health --ready
        siftd health --url https://search.example.org
        SVC_HTTP_ADDR=0.0.0.0:8000 siftd health          a server with this address in its environment
        HEALTHCHECK CMD ["/usr/local/bin/siftd", "health"]`),
    )
    .action(async ({ configFilePath, ready, url, ca }) => {
      const path = ready === true ? '/ready' : '/health'
      const report = (address: string, fault: string | null): void => {
        output.line(`${address}: ${fault ?? (ready === true ? 'ready' : 'available')}`)
        if (fault !== null) output.finding()
      }
      if (url !== undefined) {
        if (configFilePath !== undefined)
          throw new LaunchError('health: --url excludes --config-file-path', 2)
        if (!isHttpUrl(url))
          throw new LaunchError(
            'health: --url is not a URL of http or https, such as http://localhost:7700',
            2,
          )
        const { authorities } = authoritiesOf({ ca })
        const trusted = authorities === undefined ? {} : { ca: trusting(authorities) }
        const { protocol, hostname, port, origin, pathname } = new URL(url)
        const target = {
          host: hostname.replace(/^\[|\]$/g, ''),
          port,
          // The server may be below a path of a proxy.
          path: `${withoutTrailing(pathname, '/')}${path}`,
          signal: AbortSignal.timeout(ANSWER_MS_MAX),
        }
        return report(
          origin,
          await faultOf(
            protocol === 'https:' ? requestHttps({ ...target, ...trusted }) : requestHttp(target),
            false,
          ),
        )
      }
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
      report(addressText(httpAddr), await faultOf(...requestTo(run.options, path)))
    }),
)

/**
 * Calls the server at the address of `options`.
 * @returns the request, and true if a server that demands a client certificate counts as healthy
 */
function requestTo(options: LaunchOptions, path: '/health' | '/ready'): [ClientRequest, boolean] {
  const { httpAddr, sslCertPath, sslRequireAuth } = options
  const target = {
    host: reachable(httpAddr.host),
    port: httpAddr.port,
    path,
    signal: AbortSignal.timeout(ANSWER_MS_MAX),
  }
  const request =
    sslCertPath === null ? requestHttp(target) : requestHttps({ ...target, rejectUnauthorized: false })
  // This command has no client certificate. A server that demands one is running.
  return [request, sslRequireAuth]
}

/** Returns the fault of the server that answers `request`; null: none. */
function faultOf(request: ClientRequest, mayRefuseClient: boolean): Promise<string | null> {
  return new Promise((resolve) => {
    request.on('response', (response) => {
      response.resume()
      resolve(response.statusCode === 200 ? null : `answers with status ${response.statusCode}`)
    })
    request.on('error', (error: NodeJS.ErrnoException) => {
      const { code = error.name } = error
      if (error.name === 'AbortError')
        return resolve(`does not answer within ${ANSWER_MS_MAX / 1000} seconds`)
      const isRefusedClient = mayRefuseClient && code.includes('CERTIFICATE_REQUIRED')
      return resolve(isRefusedClient ? null : `does not answer: ${code}`)
    })
    request.end()
  })
}

/** Replaces wildcard addresses, which some systems cannot connect to. */
const reachable = (host: string): string =>
  (({ '0.0.0.0': '127.0.0.1', '::': '::1' }) as Readonly<Record<string, string>>)[host] ?? host
