/** PostgreSQL from the packages of the system, on a free port. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { freePort } from './ports.js'
import { isCi, type Requirement } from './requirements.js'

/** Where packages of Debian, Red Hat and Homebrew install versions. */
const FOLDERS = ['/usr/lib/postgresql', '/usr', '/opt/homebrew/opt']

/** Folder with the programs of the newest version, or of SIFTD_TEST_POSTGRES; null if there is none. */
function programs(): string | null {
  if (process.env.SIFTD_TEST_POSTGRES) return process.env.SIFTD_TEST_POSTGRES
  for (const folder of FOLDERS) {
    const versions = existsSync(folder) ? readdirSync(folder).sort().reverse() : []
    const found = versions
      .map((version) => join(folder, version, 'bin'))
      .find((bin) => existsSync(join(bin, 'initdb')))
    if (found !== undefined) return found
  }
  return existsSync('/usr/bin/initdb') ? '/usr/bin' : null
}

const bin = programs()

/** Path of a program of the installed version, such as `psql`. */
export const postgresProgram = (name: string): string => join(bin ?? '', name)

export const postgresPrograms: Requirement = {
  missing: bin === null ? 'PostgreSQL is not installed (apt-get install postgresql)' : null,
  isDemanded: isCi,
}

/** Returns true if the installed version has an extension, such as `postgis`. */
export function hasExtension(name: string): boolean {
  if (bin === null) return false
  const shared = spawnSync(postgresProgram('pg_config'), ['--sharedir'], { encoding: 'utf8' }).stdout ?? ''
  return existsSync(join(shared.trim(), 'extension', `${name}.control`))
}

/** Major version; 0 without a server. */
export function postgresVersion(): number {
  if (bin === null) return 0
  const shown = spawnSync(postgresProgram('postgres'), ['--version'], { encoding: 'utf8' }).stdout ?? ''
  return Number(/\) (\d+)/.exec(shown)?.[1] ?? 0)
}

/** User of the server. PostgreSQL refuses to run as root. */
function unprivileged(): { readonly uid?: number; readonly gid?: number } {
  if (process.getuid?.() !== 0) return {}
  const user = ['postgres', 'nobody'].find((name) => spawnSync('id', [name]).status === 0) ?? 'nobody'
  const numberOf = (option: string) => Number(execFileSync('id', [option, user], { encoding: 'utf8' }))
  return { uid: numberOf('-u'), gid: numberOf('-g') }
}

/** Gives a file or directory to the user of the server. */
function handOver(path: string): void {
  const { uid, gid } = unprivileged()
  if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid)
}

function newDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'siftd-postgres-'))
  handOver(directory)
  return directory
}

/** Seconds until the server answers, at most. */
const START_SECONDS_MAX = 60

export class TestPostgres {
  readonly url: string
  readonly #directory: string
  readonly #port: number
  readonly #options: readonly string[]
  #child: ChildProcess | null = null
  #pool: pg.Pool

  private constructor(directory: string, port: number, options: readonly string[]) {
    this.#directory = directory
    this.#port = port
    this.#options = options
    this.url = `postgres://shop@127.0.0.1:${port}/postgres`
    this.#pool = this.#newPool()
  }

  /** @param options further arguments of the server, such as `-c wal_level=replica` */
  static async start(
    t: { teardown(end: () => unknown): void },
    options: readonly string[] = [],
  ): Promise<TestPostgres> {
    const user = unprivileged()
    const directory = newDirectory()
    execFileSync(
      join(bin!, 'initdb'),
      ['-D', join(directory, 'data'), '-A', 'trust', '-U', 'shop', '-N', '-E', 'UTF8', '--no-locale'],
      {
        ...user,
        cwd: directory,
        stdio: 'ignore',
      },
    )
    const server = new TestPostgres(directory, await freePort(), options)
    t.teardown(() => server.remove())
    await server.restart()
    return server
  }

  /** Starts a server that follows this one, also its slots, and can take its place. PostgreSQL 17 or newer. */
  async startStandby(t: { teardown(end: () => unknown): void }): Promise<TestPostgres> {
    const slot = 'standby'
    const directory = newDirectory()
    const backup = await this.connect()
    await backup.query('select pg_create_physical_replication_slot($1, true)', [slot])
    await backup.query('select pg_backup_start($1, true)', [slot])
    const data = join(directory, 'data')
    execFileSync('cp', ['-a', join(this.#directory, 'data'), data])
    const { rows } = await backup.query<{ labelfile: string }>('select labelfile from pg_backup_stop(false)')
    await backup.end()
    // A standby has its own process and slots.
    rmSync(join(data, 'postmaster.pid'))
    for (const name of readdirSync(join(data, 'pg_replslot')))
      rmSync(join(data, 'pg_replslot', name), { recursive: true })
    const files = { backup_label: rows[0]?.labelfile ?? '', 'standby.signal': '' }
    for (const [name, text] of Object.entries(files)) {
      writeFileSync(join(data, name), text)
      handOver(join(data, name))
    }
    const settings = [
      `primary_conninfo=host=127.0.0.1 port=${this.#port} user=shop dbname=postgres`,
      ...[`primary_slot_name=${slot}`, 'hot_standby_feedback=on', 'sync_replication_slots=on'],
    ]
    const options = settings.flatMap((one) => ['-c', one])
    const standby = new TestPostgres(directory, await freePort(), options)
    t.teardown(() => standby.remove())
    await standby.restart()
    return standby
  }

  get pid(): number {
    return this.#child?.pid ?? 0
  }

  async restart(): Promise<void> {
    for (let tries = 0; ; tries++) {
      // It ends at once while another program uses its port for an outgoing connection.
      if (this.#child === null || this.#child.exitCode !== null || this.#child.signalCode !== null)
        this.#child = this.#spawn()
      try {
        await this.sql('select 1')
        return
      } catch (error) {
        if (tries > START_SECONDS_MAX * 10) throw error
        await sleep(100)
      }
    }
  }

  #spawn(): ChildProcess {
    const settings = [
      ...['wal_level=logical', 'fsync=off', 'listen_addresses=127.0.0.1', 'max_connections=50'],
      ...['shared_buffers=32MB', `unix_socket_directories=${this.#directory}`],
    ]
    return spawn(
      join(bin!, 'postgres'),
      [
        ...['-D', join(this.#directory, 'data'), '-p', String(this.#port)],
        ...settings.flatMap((one) => ['-c', one]),
        ...this.#options,
      ],
      { ...unprivileged(), cwd: this.#directory, stdio: 'ignore' },
    )
  }

  /** Runs SQL, also several statements. Returns the rows of the last. */
  async sql(text: string, values?: readonly unknown[]): Promise<Readonly<Record<string, unknown>>[]> {
    const result = await this.#pool.query(text, values === undefined ? undefined : [...values])
    const last = Array.isArray(result) ? result.at(-1) : result
    return last?.rows ?? []
  }

  /** A separate connection. It must be ended. */
  async connect(): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: this.url })
    client.on('error', () => undefined)
    await client.connect()
    return client
  }

  /** Kills all processes of the server. */
  async kill(): Promise<void> {
    const child = this.#child
    if (child === null || child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise((resolve) => child.once('exit', resolve))
    // The children of a killed server end by themselves, and the next server waits for that.
    child.kill('SIGKILL')
    await ended
    await this.#pool.end().catch(() => undefined)
    this.#pool = this.#newPool()
  }

  async remove(): Promise<void> {
    await this.#pool.end().catch(() => undefined)
    const child = this.#child
    if (child !== null && child.exitCode === null && child.signalCode === null) {
      const ended = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGQUIT')
      await ended
    }
    rmSync(this.#directory, { recursive: true, force: true })
  }

  #newPool(): pg.Pool {
    const pool = new pg.Pool({ connectionString: this.url, max: 5 })
    pool.on('error', () => undefined)
    return pool
  }
}
