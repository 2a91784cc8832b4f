/** Starts a daemon in a separate process, with a keep-alive client and a load generator for searches. */
import { type ChildProcess, spawn } from 'node:child_process'
import { Agent, request as httpRequest } from 'node:http'
import { fileURLToPath } from 'node:url'
import autocannon from 'autocannon'
import { freePort } from '../__test__/support/ports.js'

const daemon = fileURLToPath(new URL('../ts/cli/main.js', import.meta.url))

interface Reply {
  readonly status: number
  readonly text: string
}

/** Creates a client with keep-alive connections. */
export function client(port: number, connections: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  return (method: string, path: string, body?: Buffer | string, type = 'application/json') =>
    new Promise<Reply>((resolve, reject) => {
      const headers =
        body === undefined ? {} : { 'content-type': type, 'content-length': Buffer.byteLength(body) }
      const outgoing = httpRequest({ host: '127.0.0.1', port, method, path, headers, agent }, (incoming) => {
        const chunks: Buffer[] = []
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
        incoming.on('end', () =>
          resolve({ status: incoming.statusCode ?? 0, text: Buffer.concat(chunks).toString() }),
        )
        incoming.on('error', reject)
      })
      outgoing.on('error', reject)
      outgoing.end(body)
    })
}

export interface Load {
  readonly port: number
  readonly index: string
  /** Search bodies, sent repeatedly. */
  readonly bodies: readonly string[]
  /** Number of concurrent searches. */
  readonly connections: number
  readonly seconds: number
}

export interface Pace {
  readonly perSecond: number
  readonly searches: number
  /** Milliseconds, rounded. */
  readonly p50: number
  readonly p99: number
}

const searchRequest = (index: string, body: string) => ({
  method: 'POST' as const,
  path: `/indexes/${index}/search`,
  headers: { 'content-type': 'application/json' },
  body,
})

function checked(result: autocannon.Result): autocannon.Result {
  const { non2xx, errors } = result
  if (non2xx + errors > 0) throw new Error(`${non2xx} searches were refused, ${errors} got no answer`)
  return result
}

/** Searches as fast as the server answers. @throws Error if a search is refused */
export async function pace({ port, index, bodies, connections, seconds }: Load): Promise<Pace> {
  const requests = bodies.map((body) => searchRequest(index, body))
  const url = `http://127.0.0.1:${port}`
  const { requests: asked, latency } = checked(
    await autocannon({ url, connections, duration: seconds, requests }),
  )
  return { perSecond: asked.average, searches: asked.total, p50: latency.p50, p99: latency.p99 }
}

/**
 * Repeats a search, each after the answer to the previous one.
 * @returns milliseconds of each, in order
 * @throws Error if a search is refused
 */
export async function timesOf(
  port: number,
  index: string,
  body: string,
  searches: number,
): Promise<number[]> {
  const times: number[] = []
  const result = await new Promise<autocannon.Result>((resolve, reject) => {
    const options = { url: `http://127.0.0.1:${port}`, connections: 1, amount: searches }
    const load = autocannon({ ...options, requests: [searchRequest(index, body)] }, (error, result) =>
      error ? reject(error) : resolve(result),
    )
    load.on('response', (_client, _status, _bytes, milliseconds) => times.push(milliseconds))
  })
  checked(result)
  return times
}

/** Waits for the task in `reply`. @throws Error if it fails */
export async function untilFinished(call: ReturnType<typeof client>, reply: Reply): Promise<void> {
  const { taskUid } = JSON.parse(reply.text) as { taskUid?: number }
  if (taskUid === undefined) throw new Error(`refused: ${reply.text}`)
  for (;;) {
    const task = JSON.parse((await call('GET', `/tasks/${taskUid}`)).text) as {
      status: string
      error: unknown
    }
    if (task.status === 'succeeded') return
    if (task.status === 'failed') throw new Error(JSON.stringify(task.error))
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}

/** Starts a daemon with `directory` and waits until it answers. @param nodeOptions options of Node.js */
export async function startDaemon(
  engine: string,
  directory: string,
  options: readonly string[] = [],
  nodeOptions: readonly string[] = [],
) {
  const port = await freePort()
  const address = ['--http-addr', `127.0.0.1:${port}`, '--db-path', directory]
  const given = ['--engine', engine, ...address, '--log-level', 'error', '--no-analytics', ...options]
  const args = [...nodeOptions, daemon, ...given]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  await started(child, port)
  return { port, child, pid: child.pid ?? 0 }
}

async function started(child: ChildProcess, port: number): Promise<void> {
  const call = client(port, 1)
  for (let tries = 0; tries < 6000 && child.exitCode === null; tries++) {
    const reply = await call('GET', '/health').catch(() => null)
    if (reply?.status === 200) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error('the daemon did not start')
}
