/** Servers for the scripts: one, or two that share a bucket behind one address. */
import { createServer, request as sendRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { ServerProcess } from '../../__test__/support/server-process.js'
import { accessKeyId, bucket, secretAccessKey, startStore } from '../../__test__/support/store-servers.js'
import { startCuttableProxy } from '../sync-postgres/cuttable-proxy.js'

const START_MS_MAX = 60_000
const STOP_MS_MAX = 10_000
/** Longest time until a new leader accepts a write. */
const WRITABLE_MS_MAX = 60_000
/** Characters of its log that an error shows. */
const LOG_SHOWN = 4_000

export interface ServersSetup {
  readonly engine: 'native' | 'fallback'
  /** An empty directory. */
  readonly directory: string
}

export interface Servers {
  readonly url: string
  stop(): Promise<void>
}

async function started(
  { engine, directory }: ServersSetup,
  name: string,
  args: readonly string[] = [],
): Promise<ServerProcess> {
  const start = await ServerProcess.start({
    ...{ data: join(directory, name), engine, startMsMax: START_MS_MAX },
    args: ['--dump-dir', join(directory, 'dumps'), ...args],
    env: { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey },
  })
  if (start.kind !== 'listening') throw new Error(`the server did not start (${start.kind}): ${start.errors}`)
  return start.server
}

export async function oneServer(setup: ServersSetup, args: readonly string[] = []): Promise<Servers> {
  const server = await started(setup, 'data', args)
  return { url: server.url, stop: async () => void (await server.stop(STOP_MS_MAX)) }
}

/** Starts a leader and a follower. The address sends each request to the next of both. */
export async function twoServers(setup: ServersSetup): Promise<Servers> {
  const ends: (() => unknown)[] = []
  const stop = async (): Promise<void> => {
    for (const end of ends.reverse()) await end()
  }
  try {
    const origin = await startStore({ teardown: (end) => void ends.push(end) }, 'gofakes3')
    const servers: ServerProcess[] = []
    for (const name of ['leader', 'follower']) {
      const peers = await startCuttableProxy(0)
      ends.push(() => peers.close())
      const server = await started(setup, name, [
        ...['--bucket', `s3://${bucket}/clients`, '--bucket-endpoint', origin, '--bucket-ack', 'bucket'],
        ...['--experimental-allowed-ip-networks', '127.0.0.0/8', '--read-consistency', 'strong'],
        ...['--candidate', 'yes', '--advertised-url', `http://127.0.0.1:${peers.port}`],
        ...(name === 'follower' ? ['--follow'] : []),
      ])
      peers.target = Number(new URL(server.url).port)
      ends.push(() => server.stop(STOP_MS_MAX))
      servers.push(server)
      // A follower can copy only a bucket with a first checkpoint.
      if (name === 'leader') await untilWritable(server)
    }
    const balancer = await startBalancer(servers.map(({ url }) => url))
    ends.push(balancer.stop)
    return { url: balancer.url, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Waits until a server accepts a write. @throws Error with the end of its log after `WRITABLE_MS_MAX` */
async function untilWritable(server: ServerProcess): Promise<void> {
  for (const end = performance.now() + WRITABLE_MS_MAX; ; await pause(50)) {
    const { status, body } = await server.call('PATCH', '/experimental-features', {})
    if (status === 200) return
    if (performance.now() > end)
      throw new Error(
        `the leader still refuses writes: ${status} ${JSON.stringify(body)}\n${server.errors.slice(-LOG_SHOWN)}`,
      )
  }
}

/** Passes each request on to the next of some servers, as a load balancer without sticky sessions. */
async function startBalancer(urls: readonly string[]): Promise<Servers> {
  let next = 0
  const server = createServer((request, response) => {
    const { method, url, headers } = request
    const passed = sendRequest(`${urls[next++ % urls.length]}${url}`, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    passed.on('error', () => response.destroy())
    request.pipe(passed)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

export const servers = { one: (setup: ServersSetup) => oneServer(setup), two: twoServers } as const
export type ServersName = keyof typeof servers
