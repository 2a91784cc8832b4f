/** A server with its own links to the bucket and from the other servers. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type FaultProxy, startFaultProxy } from '../../__test__/support/fault-proxy.js'
import { numbers } from '../../__test__/support/numbers.js'
import { freePort } from '../../__test__/support/ports.js'
import { program } from '../../__test__/support/program.js'
import { accessKeyId, bucket, secretAccessKey } from '../../__test__/support/store-servers.js'
import { type CuttableProxy, startCuttableProxy } from '../sync-postgres/cuttable-proxy.js'

export interface NodeSetup {
  readonly name: string
  readonly engine: string
  /** Origin of the object store. */
  readonly store: string
  /** Directory for the data directories of all servers. */
  readonly directory: string
  readonly ack: 'bucket' | 'local'
  readonly seed: number
  /** Share of calls to the bucket that fail. */
  readonly failing: number
}

export interface Answer {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
  readonly headers: Headers
}

export interface Health {
  readonly role: 'writer' | 'follower'
  readonly position: number | null
  readonly leadConfirmed: boolean | null
}

/** Milliseconds for an answer. */
const ANSWER_MS = 12_000
const HEALTH_MS = 1_500
const LOG_CHARS = 200_000

export class Node {
  readonly name: string
  readonly #setup: NodeSetup
  readonly #port: number
  readonly #bucket: FaultProxy
  readonly #peers: CuttableProxy
  #child: ChildProcess | null = null
  #gone: Promise<unknown> = Promise.resolve()
  #log = ''
  /** False from a fault until its end: its answers may be late or missing. */
  isWell = true
  /** Directories with writes that the bucket lacks → their number of transactions. */
  readonly diverged = new Map<string, number>()

  private constructor(setup: NodeSetup, port: number, links: readonly [FaultProxy, CuttableProxy]) {
    this.name = setup.name
    this.#setup = setup
    this.#port = port
    ;[this.#bucket, this.#peers] = links
  }

  static async create(setup: NodeSetup): Promise<Node> {
    const port = await freePort()
    const { store, seed, failing } = setup
    const lot = numbers(seed)
    return new Node(setup, port, [
      await startFaultProxy({ store, lot, failing, delayMs: 20 }),
      await startCuttableProxy(port),
    ])
  }

  get isRunning(): boolean {
    return this.#child !== null && this.#child.exitCode === null && this.#child.signalCode === null
  }

  get log(): string {
    return this.#log
  }

  /** Starts the process. */
  start(as: 'first' | 'follower' | 'successor'): void {
    const { directory, engine, ack, name } = this.#setup
    const options = [
      ...['--db-path', join(directory, name), '--http-addr', `127.0.0.1:${this.#port}`],
      ...['--engine', engine, '--log-level', 'WARN', '--no-analytics'],
      ...['--bucket', `s3://${bucket}/failover`, '--bucket-endpoint', this.#bucket.origin],
      ...['--bucket-ack', ack, '--bucket-interval', '100', '--candidate', 'yes'],
      ...['--advertised-url', `http://127.0.0.1:${this.#peers.port}`],
      ...['--experimental-allowed-ip-networks', '127.0.0.0/8'],
      ...(as === 'follower' ? ['--follow'] : []),
      ...(as === 'successor' ? ['--bucket-take-over'] : []),
    ]
    const child = spawn(process.execPath, [program, ...options], {
      env: { ...process.env, AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    this.#log += `\n--- started as ${as}\n`
    child.stderr.on('data', (chunk: Buffer) => {
      this.#log = `${this.#log}${chunk}`.slice(-LOG_CHARS)
    })
    this.#gone = new Promise((resolve) => child.once('exit', resolve))
    this.#child = child
  }

  signal(name: NodeJS.Signals): void {
    this.#log += `--- ${name}\n`
    this.#child?.kill(name)
  }

  async end(name: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    this.signal(name)
    await this.#gone
  }

  cutFromBucket(how: 'refused' | 'silent'): void {
    this.#log += `--- cut from the bucket (${how})\n`
    this.#bucket.leave(how)
  }

  cutFromPeers(): void {
    this.#log += '--- cut from peers\n'
    this.#peers.refuses = true
    this.#peers.cut()
  }

  /** Ends all faults, and starts the process if it has ended. */
  heal(): void {
    this.#bucket.comeBack()
    this.#peers.refuses = false
    if (!this.isRunning) this.start('follower')
    else this.signal('SIGCONT')
  }

  /** @returns null: no answer */
  async call(method: string, path: string, body?: unknown, headers = {}): Promise<Answer | null> {
    try {
      const answer = await fetch(`http://127.0.0.1:${this.#port}${path}`, {
        method,
        signal: AbortSignal.timeout(path === '/health' ? HEALTH_MS : ANSWER_MS),
        ...(body !== undefined && { body: JSON.stringify(body) }),
        headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
      })
      return { status: answer.status, body: (await answer.json()) as Answer['body'], headers: answer.headers }
    } catch {
      return null
    }
  }

  /** @returns null: no answer, or it opens its instance */
  async health(): Promise<Health | null> {
    const answer = await this.call('GET', '/health')
    return (answer?.body.replication as Health | undefined) ?? null
  }

  /** Repeats a read until it is answered with 200. */
  async read(method: string, path: string, body: unknown, until: () => void): Promise<Answer['body']> {
    for (;;) {
      const answer = await this.call(method, path, body, { 'x-siftd-read-consistency': 'strong' })
      if (answer?.status === 200) return answer.body
      until()
      await pause(100)
    }
  }

  /** Notes the directories that were set aside. */
  async noteDiverged(): Promise<void> {
    const own = join(this.#setup.directory, this.name)
    for (const name of await readdir(own).catch(() => []))
      if (name.startsWith('diverged-') && !this.diverged.has(name)) {
        const note = JSON.parse(await readFile(join(own, name, 'diverged.json'), 'utf8'))
        this.diverged.set(name, (note as { unsentTransactions: number }).unsentTransactions)
      }
  }

  async close(): Promise<void> {
    if (this.isRunning) await this.end('SIGKILL')
    await this.#bucket.close()
    await this.#peers.close()
  }
}
