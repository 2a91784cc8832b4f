/** Starts servers that share a bucket. */
import { join } from 'node:path'
import type { ExecutionContext } from 'ava'
import { tempDir } from '../../backup/archives.js'
import { type Reply, startDaemon, type TestDaemon } from '../../support/daemon.js'
import { testEngine } from '../../support/server.js'
import {
  accessKeyId,
  bucket,
  secretAccessKey,
  startStoreProcess,
  storeServer,
} from '../../support/store-servers.js'
import { testNeeding } from '../../support/test-needing.js'

export const tests = testNeeding([storeServer('gofakes3')])

const engine = ['--engine', testEngine]
/** Options that pause the task queue. */
export const held = ['--experimental-max-number-of-batched-tasks', '0']

export interface World {
  readonly directory: string
  readonly origin: string
  /** Stops all answers of the store until `continueStore`. */
  pauseStore(): void
  continueStore(): void
  /** @param args options, or a function that returns them for the port of the server */
  start(name: string, ...args: readonly string[] | [(port: number) => readonly string[]]): Promise<TestDaemon>
}

export async function world(t: ExecutionContext): Promise<World> {
  t.timeout(240_000)
  const directory = await tempDir(t)
  const { origin, signal } = await startStoreProcess(t, 'gofakes3')
  return {
    directory,
    origin,
    pauseStore: () => signal('SIGSTOP'),
    continueStore: () => signal('SIGCONT'),
    start: (name, ...args) =>
      startDaemon(
        t,
        join(directory, name),
        (port) => [
          ...engine,
          ...['--bucket', `s3://${bucket}/instances/one`, '--bucket-endpoint', origin],
          ...['--bucket-region', 'eu-central-1'],
          ...['--experimental-allowed-ip-networks', '127.0.0.0/8', '--bucket-interval', '50'],
          ...args.flatMap((given) => (typeof given === 'function' ? given(port) : [given])),
        ],
        { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey },
      ),
  }
}

export async function settled(server: TestDaemon, uid: unknown) {
  for (;;) {
    const { body } = await server.call('GET', `/tasks/${uid}`)
    const { status, code } = body
    // A follower may not know the newest tasks yet.
    if (status !== 'enqueued' && status !== 'processing' && code !== 'task_not_found') return body
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** Repeats a call until it is answered, because the server may restart its instance in between. */
export async function answered(server: TestDaemon, ...call: Parameters<TestDaemon['call']>): Promise<Reply> {
  for (;;) {
    if (server.ended()) throw new Error(server.log())
    const reply = await server.call(...call).catch(() => null)
    if (reply !== null) return reply
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/** Waits until a writer has reached its bucket, and the bucket has its writes so far. Returns the role of the server. */
export async function connected(server: TestDaemon): Promise<string> {
  for (;;) {
    const { replication } = (await answered(server, 'GET', '/stats')).body as unknown as {
      replication: { role: string; position: number | null; unsentTransactions: number }
    }
    if (replication.position !== null && replication.unsentTransactions === 0) return replication.role
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

export async function add(server: TestDaemon, documents: readonly object[]) {
  const { status, body } = await server.call('POST', '/indexes/films/documents', documents)
  if (status !== 202) throw new Error(`adding documents was answered with ${status}: ${JSON.stringify(body)}`)
  return body.taskUid
}

export const titles = async (server: TestDaemon, q: string): Promise<readonly unknown[]> => {
  const { body } = await answered(server, 'POST', '/indexes/films/search', { q })
  return (body.hits as unknown as readonly { title: string }[]).map(({ title }) => title)
}

/** Resolves when the bucket has all writes so far. */
export async function sent(server: TestDaemon): Promise<void> {
  await server.call('PATCH', '/experimental-features', { containsFilter: true })
}
