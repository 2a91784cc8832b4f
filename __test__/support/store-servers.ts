/** Real object stores for tests, installed from the Go module proxy, on local ports. */
import { execFile, spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { ExecutionContext } from 'ava'
import { openOutbound } from '../../ts/outbound/index.js'
import { bucketAddress, type ObjectStore, s3Store } from '../../ts/replication/index.js'
import { freePort } from './ports.js'
import { isCi, type Requirement } from './requirements.js'

const execute = promisify(execFile)

/** A store that tests can start. */
interface StoreServer {
  readonly module: string
  readonly version: string
  readonly arguments: (port: number, directory: string) => readonly string[]
  readonly env: Readonly<Record<string, string>>
}

/** Credentials and bucket of each store. gofakes3 does not check signatures. */
export const accessKeyId = 'tester'
export const secretAccessKey = 'a secret of tests'
export const bucket = 'tests'

export const storeServers = {
  gofakes3: {
    module: 'github.com/johannesboyne/gofakes3/cmd/gofakes3',
    version: 'v1.2.0',
    arguments: (port) => ['-backend', 'memory', '-host', `127.0.0.1:${port}`, '-initialbucket', bucket],
    env: {},
  },
  versitygw: {
    module: 'github.com/versity/versitygw/cmd/versitygw',
    version: 'v1.8.0',
    arguments: (port, directory) => ['--port', `127.0.0.1:${port}`, '--quiet', 'posix', directory],
    env: { ROOT_ACCESS_KEY: accessKeyId, ROOT_SECRET_KEY: secretAccessKey },
  },
} as const satisfies Record<string, StoreServer>

const folder = fileURLToPath(new URL('../../../node_modules/.cache/siftd-stores', import.meta.url))
const pathOf = ({ module, version }: StoreServer): string =>
  join(folder, version, module.slice(module.lastIndexOf('/') + 1))

/** Requirement of a store. Compiling versitygw takes minutes, so it is tested only where it is installed. */
export function storeServer(name: keyof typeof storeServers): Requirement {
  const isInstalled = existsSync(pathOf(storeServers[name]))
  const hasGo = spawnSync('go', ['version']).status === 0
  if (name === 'versitygw' && !isInstalled)
    return { missing: '`npm run trials -- bucket-stores` has not installed versitygw', isDemanded: false }
  return {
    missing: isInstalled || hasGo ? null : 'Go is not installed, which builds the store',
    isDemanded: isCi,
  }
}

const installing = new Map<keyof typeof storeServers, Promise<void>>()

/** Installs a store unless it is installed. */
export function installStore(name: keyof typeof storeServers): Promise<void> {
  const running = installing.get(name) ?? installOnce(name)
  installing.set(name, running)
  return running
}

async function installOnce(name: keyof typeof storeServers): Promise<void> {
  const server = storeServers[name]
  if (existsSync(pathOf(server))) return
  const directory = join(folder, server.version)
  await mkdir(directory, { recursive: true })
  await execute('go', ['install', `${server.module}@${server.version}`], {
    cwd: directory,
    env: { ...process.env, GOBIN: directory },
  })
}

/** Starts a store with one bucket. @returns its origin */
export const startStore = async (
  t: Pick<ExecutionContext, 'teardown'>,
  name: keyof typeof storeServers,
): Promise<string> => (await startStoreProcess(t, name)).origin

/** Longest time until a store answers. */
const START_MS_MAX = 60_000

/** Starts a store with one bucket. */
export async function startStoreProcess(
  t: Pick<ExecutionContext, 'teardown'>,
  name: keyof typeof storeServers,
): Promise<{ readonly origin: string; signal(name: NodeJS.Signals): void }> {
  await installStore(name)
  const server: StoreServer = storeServers[name]
  const directory = await mkdtemp(join(tmpdir(), 'siftd-store-'))
  await mkdir(join(directory, bucket))
  const port = await freePort()
  const child = spawn(pathOf(server), server.arguments(port, directory), {
    env: { ...process.env, ...server.env },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let output = ''
  child.stderr.on('data', (chunk: Buffer) => {
    output = `${output}${chunk}`.slice(-100_000)
  })
  let isExpected = false
  child.once('exit', (code, signal) => {
    // Without a store the servers of a test only repeat their calls.
    if (isExpected) return
    const panic = output.search(/^(fatal error|panic): /m)
    console.error(`${name} ended with ${code ?? signal}: ${output.slice(panic).slice(0, 3_000)}`)
  })
  t.teardown(async () => {
    isExpected = true
    child.kill('SIGKILL')
    await rm(directory, { recursive: true, force: true })
  })
  const origin = `http://127.0.0.1:${port}`
  for (const end = performance.now() + START_MS_MAX; ; ) {
    const error = await fetch(origin).then(
      () => null,
      (error: unknown) => error,
    )
    if (error === null) break
    if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}`)
    if (performance.now() > end) throw new Error(`${name} does not answer at ${origin}`, { cause: error })
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return {
    origin,
    signal(sent) {
      isExpected ||= sent !== 'SIGSTOP' && sent !== 'SIGCONT'
      child.kill(sent)
    },
  }
}

/** Options with values that the server does not expect. */
interface Opening {
  readonly secret?: string
  readonly url?: string
}

/** Returns a client of a started store. */
export function storeAt(
  t: ExecutionContext,
  origin: string,
  { secret = secretAccessKey, url = `s3://${bucket}/some/prefix` }: Opening = {},
): ObjectStore {
  const outbound = openOutbound({ allowedNetworks: 'any' })
  t.teardown(() => outbound.close())
  const credentials = async () => ({ accessKeyId, secretAccessKey: secret, sessionToken: null })
  return s3Store({ address: bucketAddress(url, origin, null), credentials, outbound })
}
