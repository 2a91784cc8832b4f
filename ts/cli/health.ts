import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { defineCommand, examples } from '../command/index.js'
import { addressText, LaunchError, type LaunchOptions, launchMistakes, machine } from '../launch/index.js'
import { textOf } from './text-of.js'

/** Milliseconds after which a server that has not answered counts as hung. Probes of containers wait about as long. */
const ANSWER_MS_MAX = 4_000

export const health = defineCommand('health', (command, output) =>
  command
    .description(`Tells whether the server of this machine or container answers.

Reads the address as a start would, from the environment and the configuration file, and asks GET /health there. It
needs no key and does not check the certificate, since it asks the machine itself. The exit code is 0 if the server is
available, 1 if it is not, 2 for wrong usage.

With --ready it asks GET /ready, which fails while a follower lags behind its writer: send clients elsewhere then, and do
not restart it.`)
    .option('--ready', 'Ask whether clients should be sent to the server')
    .option('--config-file-path <file>', 'The configuration file (default: ./config.toml if there is one)')
    .addHelpText(
      'after',
      examples(`
        siftd health
        siftd health --ready
        SVC_HTTP_ADDR=0.0.0.0:8000 siftd health          a server that has this address by its environment
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
        throw new LaunchError('health: the address has port 0, and which one a server took is not known', 2)
      const fault = await faultOf(run.options, ready === true ? '/ready' : '/health')
      const address = addressText(httpAddr)
      output.line(`${address}: ${fault ?? (ready === true ? 'ready' : 'available')}`)
      if (fault !== null) output.finding()
    }),
)

/** What is wrong with the server at the address of `options`; null: nothing. */
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
      // This command has no certificate of a client. A server that says it wants one is well.
      const isRefusedClient = sslRequireAuth && code.includes('CERTIFICATE_REQUIRED')
      return resolve(isRefusedClient ? null : `does not answer: ${code}`)
    })
    request.end()
  })
}

/** Addresses that stand for all of a machine are none to connect to on every system. */
const reachable = (host: string): string =>
  (({ '0.0.0.0': '127.0.0.1', '::': '::1' }) as Readonly<Record<string, string>>)[host] ?? host
