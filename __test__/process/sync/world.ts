/** A server, a database and the configuration of a sync between them. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import test, { type ExecutionContext } from 'ava'
import { type Outcome, type RunningCommand, runCommand, startCommand } from '../../support/command.js'
import { startDaemon, type TestDaemon } from '../../support/daemon.js'
import { postgresPrograms, TestPostgres } from '../../support/postgres.js'
import { nativeEngine, type Requirement } from '../../support/requirements.js'
import { testEngine } from '../../support/server.js'

/** Milliseconds until a change is in the index, on a busy machine. */
const CHANGE_MS_MAX = 60_000

/** Requirements of all specs of the sync. */
export const needs: readonly Requirement[] =
  testEngine === 'native' ? [postgresPrograms, nativeEngine] : [postgresPrograms]

/** Starts PostgreSQL before the tests of a file, unless something is missing, and stops it after them. */
export function startPostgresFor(use: (postgres: TestPostgres) => void): void {
  const ends: (() => unknown)[] = []
  test.before(async () => {
    if (needs.every(({ missing }) => missing === null))
      use(await TestPostgres.start({ teardown: (end) => void ends.push(end) }))
  })
  test.after.always(async () => {
    for (const end of ends) await end()
  })
}

export interface SyncWorld {
  readonly server: TestDaemon
  readonly config: string
  /** Runs `siftd sync postgres` with a subcommand. */
  command(...args: readonly string[]): Promise<Outcome>
  /** Starts the sync. It is killed when the test ends. */
  run(): RunningCommand
  /** Waits until a document is as expected; null: until it does not exist. */
  becomes(t: ExecutionContext, uid: string, id: string | number, expected: object | null): Promise<void>
  documents(uid: string): Promise<Record<string, unknown>[]>
  /** Returns the configuration that `init` proposes. */
  proposal(): Promise<string>
  eventually(t: ExecutionContext, what: string, condition: () => Promise<boolean>): Promise<void>
}

export async function startWorld(
  t: ExecutionContext,
  postgres: Pick<TestPostgres, 'url'>,
  setup: { readonly name: string; readonly index: readonly object[] },
): Promise<SyncWorld> {
  const directory = await mkdtemp(join(tmpdir(), 'siftd-sync-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  const server = await startDaemon(t, join(directory, 'data'), ['--engine', testEngine, '--no-analytics'])
  const config = join(directory, 'sync.json')
  const target = { url: `http://127.0.0.1:${server.port}` }
  await writeFile(config, JSON.stringify({ ...setup, source: { url: postgres.url }, target }))
  const arguments_ = (args: readonly string[]) => ['sync', 'postgres', ...args, '--config', config]
  const eventually: SyncWorld['eventually'] = async (_t, what, condition) => {
    const end = Date.now() + CHANGE_MS_MAX
    while (!(await condition())) {
      if (Date.now() > end) throw new Error(`not reached: ${what}`)
      await sleep(50)
    }
  }
  return {
    server,
    config,
    command: (...args) => runCommand(arguments_(args)),
    run() {
      const running = startCommand(arguments_(['run']))
      t.teardown(async () => {
        running.kill()
        await running.outcome
      })
      return running
    },
    async becomes(t, uid, id, expected) {
      let body: unknown = null
      const path = `/indexes/${uid}/documents/${id}`
      const check = async (): Promise<boolean> => {
        const reply = await server.call('GET', path)
        body = reply.status === 200 ? reply.body : null
        return JSON.stringify(body) === JSON.stringify(expected)
      }
      await eventually(t, `document ${id} of ${uid}`, check).catch(() => undefined)
      t.deepEqual(body, expected)
    },
    async documents(uid) {
      const { body } = await server.call('GET', `/indexes/${uid}/documents?limit=1000`)
      return (body.results ?? []) as unknown as Record<string, unknown>[]
    },
    async proposal() {
      const path = join(directory, 'proposed.toml')
      await runCommand(['sync', 'postgres', 'init', '--url', postgres.url, '--config', path])
      return readFile(path, 'utf8')
    },
    eventually,
  }
}
