/** Random changes of a shop while the sync, the server and PostgreSQL are killed, or the disk of the server is full. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { numbers } from '../../__test__/support/numbers.js'
import type { TestPostgres } from '../../__test__/support/postgres.js'
import { program } from '../../__test__/support/program.js'
import { MASTER_KEY, ServerProcess } from '../../__test__/support/server-process.js'
import { buildLibrary, diskChangingCalls, Faults, missingLibrary } from '../faults/library.js'
import { type CuttableProxy, startCuttableProxy } from './cuttable-proxy.js'
import { expected, indexes, schema } from './shop.js'
import { randomSchemaChange, randomTransaction } from './workload.js'

export interface SyncTrial {
  readonly engine: string
  readonly seed: number
  readonly rounds: number
  /** Milliseconds of changes per round. */
  readonly roundMs: number
  readonly directory: string
  readonly postgres: TestPostgres
  readonly shouldContinue?: () => boolean
  report(line: string): void
}

const CLIENTS = 2
const START_MS_MAX = 120_000
/** Milliseconds for which the disk of the server is full. */
const FULL_MS = 3_000
/** Milliseconds until the index equals the rows after the last change. */
const REST_MS_MAX = 120_000

const disturbances = [
  ...['none', 'kill the sync', 'kill the server', 'kill PostgreSQL', 'cut the database', 'cut the server'],
  ...[
    'kill the sync and the server',
    'change columns',
    'resync',
    'pause',
    'kill the sync twice',
    'stop the sync',
    'fill the disk',
  ],
] as const

type Disturbance = (typeof disturbances)[number]

/** Returns a line for each problem. */
export async function syncTrial(trial: SyncTrial): Promise<readonly string[]> {
  const world = await World.start(trial)
  const random = numbers(trial.seed)
  const problems: string[] = []
  try {
    for (let round = 0; round < trial.rounds && (trial.shouldContinue?.() ?? true); round++) {
      const disturbance = disturbances[(round + trial.seed) % disturbances.length]!
      const found = await world.round(disturbance, random)
      trial.report(`round ${round}, ${disturbance}: ${found.length === 0 ? 'equal' : found.join('; ')}`)
      problems.push(...found.map((problem) => `round ${round}, ${disturbance}: ${problem}`))
      if (found.length > 0) break
    }
    if (problems.length > 0) trial.report(world.log)
    else trial.report(world.summary)
    return problems
  } finally {
    await world.stop()
  }
}

class World {
  readonly #trial: SyncTrial
  readonly #database: CuttableProxy
  readonly #address: CuttableProxy
  readonly #config: string
  /** Makes the disk of the server full; null: the machine cannot compile the library. */
  readonly #faults: Faults | null
  #server: ServerProcess | null = null
  #sync: ChildProcess | null = null
  #transactions = 0
  #isChanging = false
  log = ''

  private constructor(trial: SyncTrial, database: CuttableProxy, address: CuttableProxy) {
    this.#trial = trial
    this.#database = database
    this.#address = address
    this.#config = join(trial.directory, 'sync.json')
    this.#faults =
      missingLibrary() === null
        ? new Faults(buildLibrary(trial.directory), join(trial.directory, 'faults'))
        : null
  }

  static async start(trial: SyncTrial): Promise<World> {
    await mkdir(trial.directory, { recursive: true })
    await trial.postgres.sql(schema)
    const database = await startCuttableProxy(Number(new URL(trial.postgres.url).port))
    const world = new World(trial, database, await startCuttableProxy(0))
    const config = {
      source: { url: `postgres://shop@127.0.0.1:${database.port}/postgres` },
      target: { url: `http://127.0.0.1:${world.#address.port}`, key: MASTER_KEY },
      index: indexes,
    }
    await writeFile(world.#config, JSON.stringify(config))
    await world.#startServer()
    world.#startSync()
    return world
  }

  get summary(): string {
    return `${this.#transactions} transactions`
  }

  async #startServer(): Promise<void> {
    const { directory, engine } = this.#trial
    const started = await ServerProcess.start({
      data: join(directory, 'data'),
      engine,
      ...(this.#faults !== null && { env: this.#faults.env }),
      startMsMax: START_MS_MAX,
    })
    if (started.kind !== 'listening') throw new Error(`the server did not start: ${started.errors}`)
    this.#server = started.server
    this.#address.target = Number(new URL(started.server.url).port)
  }

  #startSync(): void {
    const child = spawn(process.execPath, [program, 'sync', 'postgres', 'run', '--config', this.#config], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    child.stderr?.on('data', (chunk: Buffer) => {
      this.log = (this.log + chunk.toString()).slice(-20_000)
    })
    child.once('exit', (code, signal) => {
      this.log += `the sync ended: ${code ?? signal}\n`
    })
    this.#sync = child
  }

  async #endSync(signal: NodeJS.Signals): Promise<void> {
    const child = this.#sync
    if (child === null || child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill(signal)
    await ended
  }

  async #command(...args: readonly string[]): Promise<void> {
    const child = spawn(process.execPath, [program, 'sync', 'postgres', ...args, '--config', this.#config], {
      stdio: 'ignore',
    })
    await new Promise((resolve) => child.once('exit', resolve))
  }

  async round(disturbance: Disturbance, random: () => number): Promise<readonly string[]> {
    const { roundMs } = this.#trial
    this.#isChanging = true
    const clients = Array.from({ length: CLIENTS }, () => this.#change(numbers(Math.floor(random() * 1e9))))
    const watching = this.#watchVersions()
    await sleep(roundMs * (0.2 + 0.4 * random()))
    await this.#disturb(disturbance, random)
    await sleep(roundMs * 0.3)
    this.#isChanging = false
    const errors = (await Promise.all(clients)).filter((error) => error !== null)
    const problems = [...errors, ...(await watching)]
    if (this.#sync?.exitCode !== null) problems.push(`the sync ended with ${this.#sync?.exitCode}`)
    return [...problems, ...(await this.#differences())]
  }

  async #disturb(disturbance: Disturbance, random: () => number): Promise<void> {
    const { postgres } = this.#trial
    switch (disturbance) {
      case 'none':
        return
      case 'kill the sync':
      case 'stop the sync':
        await this.#endSync(disturbance === 'stop the sync' ? 'SIGTERM' : 'SIGKILL')
        await sleep(300)
        return this.#startSync()
      case 'kill the sync twice':
        for (let at = 0; at < 2; at++) {
          await this.#endSync('SIGKILL')
          this.#startSync()
          await sleep(500 + 1500 * random())
        }
        return
      case 'kill the server':
        await this.#server?.kill()
        await sleep(500)
        return this.#startServer()
      case 'kill the sync and the server':
        await Promise.all([this.#endSync('SIGKILL'), this.#server?.kill()])
        await this.#startServer()
        return this.#startSync()
      case 'kill PostgreSQL':
        await postgres.kill()
        return postgres.restart()
      case 'cut the database':
        return this.#database.cut()
      case 'cut the server':
        return this.#address.cut()
      case 'change columns': {
        const client = await postgres.connect()
        try {
          for (let at = 0; at < 3; at++) {
            this.log += `${await randomSchemaChange(client, random)}\n`
            await sleep(300)
          }
        } finally {
          await client.end()
        }
        return
      }
      case 'resync':
        return this.#command('resync', 'products', 'variants')
      case 'pause':
        await this.#command('pause')
        await sleep(3_000)
        return this.#command('resume')
      case 'fill the disk':
        this.#faults?.begin({
          ...{ calls: diskChangingCalls, error: 'full', once: false, after: Math.floor(random() * 200) },
          pattern: `${this.#trial.directory}/data/*`,
        })
        await sleep(FULL_MS)
        return this.#faults?.end()
    }
  }

  /** Runs transactions until the round ends. Returns an unexpected error. */
  async #change(random: () => number): Promise<string | null> {
    while (this.#isChanging) {
      try {
        const client = await this.#trial.postgres.connect()
        try {
          while (this.#isChanging) {
            await randomTransaction(client, random)
            this.#transactions++
            await sleep(random() * 30)
          }
        } finally {
          await client.end().catch(() => undefined)
        }
      } catch (error) {
        const { code, message } = error as { readonly code?: unknown; readonly message: string }
        const isLost = code === undefined || /^(57|ECONN|08|EPIPE)/.test(String(code))
        if (!isLost) return `a transaction failed: ${message}`
        await sleep(200)
      }
    }
    return null
  }

  /** Reads documents while they change: the version of a row must never decrease. */
  async #watchVersions(): Promise<readonly string[]> {
    const versions = new Map<number, number>()
    const problems: string[] = []
    while (this.#isChanging) {
      await sleep(50)
      const server = this.#server
      if (server === null || server.hasEnded) continue
      const offset = Math.floor(Math.random() * 300)
      const path = `/indexes/products/documents?fields=id,version&limit=100&offset=${offset}`
      const answer = await server.call('GET', path).catch(() => null)
      const { results = [] } = (answer?.body ?? {}) as { results?: { id: number; version: number }[] }
      for (const { id, version } of results) {
        const before = versions.get(id) ?? 0
        if (version < before) problems.push(`document ${id} went back from version ${before} to ${version}`)
        versions.set(id, Math.max(before, version))
      }
    }
    return problems.slice(0, 3)
  }

  /** Waits until all indexes equal their queries. Returns the remaining differences. */
  async #differences(): Promise<readonly string[]> {
    const end = Date.now() + REST_MS_MAX
    for (;;) {
      const found: string[] = []
      for (const { uid } of indexes) found.push(...(await this.#differencesOf(uid)))
      if (found.length === 0 || Date.now() > end) return found
      await sleep(300)
    }
  }

  async #differencesOf(uid: string): Promise<readonly string[]> {
    const documents = await this.#documents(uid)
    const rows = await this.#trial.postgres.sql(expected[uid]!)
    const index = indexes.find((one) => one.uid === uid)
    const isComposite = index?.uid === 'variants'
    const keyOf = ({ id, product_id, sku }: Readonly<Record<string, unknown>>): string =>
      isComposite ? `${product_id} ${sku}` : String(id)
    const found = new Map(documents.map(({ _key, ...document }) => [keyOf(document), document]))
    const problems: string[] = []
    for (const { document } of rows as { document: Record<string, unknown> }[]) {
      const actual = found.get(keyOf(document))
      found.delete(keyOf(document))
      if (actual === undefined) problems.push(`${uid}: ${keyOf(document)} is missing`)
      else if (!isDeepStrictEqual(actual, document))
        problems.push(`${uid}: ${keyOf(document)} is ${text(actual)} instead of ${text(document)}`)
    }
    for (const id of found.keys()) problems.push(`${uid}: ${id} should not exist`)
    return problems.length > 3
      ? [...problems.slice(0, 2), `${uid}: ${problems.length} differences`]
      : problems
  }

  async #documents(uid: string): Promise<Record<string, unknown>[]> {
    const all: Record<string, unknown>[] = []
    for (let offset = 0; ; offset += 5_000) {
      const path = `/indexes/${uid}/documents?limit=5000&offset=${offset}`
      const answer = await this.#server?.call('GET', path).catch(() => null)
      const { results = [] } = (answer?.body ?? {}) as { results?: Record<string, unknown>[] }
      all.push(...results)
      if (results.length < 5_000) return all
    }
  }

  async stop(): Promise<void> {
    this.#isChanging = false
    await this.#endSync('SIGKILL')
    await this.#server?.kill()
    await this.#database.close()
    await this.#address.close()
  }
}

const text = (document: unknown): string => JSON.stringify(document).slice(0, 200)
