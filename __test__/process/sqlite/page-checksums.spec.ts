import { execFile } from 'node:child_process'
import { closeSync, existsSync, openSync, readSync, writeSync } from 'node:fs'
import { cp, mkdtemp, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import test, { type ExecutionContext } from 'ava'
import { readLogAt } from '../../../ts/sqlite/header.js'
import { type DriverName, openTasks } from '../../../ts/tasks/index.js'
import { inspectStore, lostProtections, objection } from '../../../ts/tasks/store/completeness.js'
import { numbers } from '../../support/numbers.js'
import { openFake } from '../../tasks/fake-engine.js'
import { create, quiet, temporaryDirectory, testQueue } from '../../tasks/test-queue.js'

// The pages of a task store's file have checksums:
// 1. A store written by this program passes, whether it was closed, killed, or its process exited without closing it.
// 2. A changed bit in the file prevents the start, unless its page is read from the log.
// 3. Missing or damaged checksums are reported once and computed again.
// 4. Checkpoints keep the log short.

const drivers: readonly DriverName[] = ['libsql', 'node-sqlite3-wasm']
/** Enough for several checkpoints. */
const TASKS = 500
const FLIPS = 150

type Ending = 'killed' | 'stopped' | 'exited'

const how: Readonly<Record<Ending, string>> = {
  killed: 'was killed',
  stopped: 'closed it',
  exited: 'exited without closing it',
}

const samples = await mkdtemp(join(tmpdir(), 'siftd-pages-'))
const sampleOf = (driver: DriverName, ending: string) => join(samples, `${driver}-${ending}`)
for (const driver of drivers) await built(driver)
test.after.always(() => rm(samples, { recursive: true, force: true }))

/** Creates a store for each ending. */
async function built(driver: DriverName): Promise<void> {
  const [killed, stopped, exited] = [
    sampleOf(driver, 'killed'),
    sampleOf(driver, 'stopped'),
    sampleOf(driver, 'exited'),
  ]
  const engine = await openFake(join(stopped, 'indexes'))
  const opened = await openTasks({ directory: stopped, engine, log: quiet, driver })
  for (let at = 0; at < TASKS; at++) await opened.tasks.enqueue(create(`boats-${at}`))
  await cp(stopped, killed, { recursive: true })
  await unlock(killed)
  await opened.close()
  await cp(stopped, exited, { recursive: true })
  await exit(exited, driver, 20)
}

async function unlock(directory: string): Promise<void> {
  await rm(join(directory, 'tasks', 'lock'), { force: true })
}

/** Runs a process that adds tasks and exits without closing the store. */
async function exit(directory: string, driver: DriverName, tasks: number): Promise<void> {
  const child = fileURLToPath(new URL('../../tasks/exit-child.js', import.meta.url))
  await promisify(execFile)(process.execPath, [child, directory, driver, String(tasks)])
  await unlock(directory)
}

/** Creates a store with tasks as a killed process leaves it. */
async function kill(
  t: ExecutionContext,
  directory: string,
  driver: DriverName,
  tasks: number,
): Promise<void> {
  const open = join(await temporaryDirectory(t), 'data')
  const queue = await testQueue(t, { directory: open, driver, log: quiet })
  for (let at = 0; at < tasks; at++) await queue.tasks.enqueue(create(`boats-${at}`))
  await cp(open, directory, { recursive: true })
  await unlock(directory)
}

async function copyOf(t: ExecutionContext, driver: DriverName, ending: Ending): Promise<string> {
  const directory = join(await temporaryDirectory(t), 'data')
  await cp(sampleOf(driver, ending), directory, { recursive: true })
  return directory
}

const fileIn = (directory: string, name: string) => join(directory, 'tasks', name)

/** Opens a queue. Also returns its number of tasks and the logged warnings. */
async function reopened(t: ExecutionContext, directory: string, driver: DriverName) {
  const warnings: string[] = []
  const log = { ...quiet, warn: (facts: { reason?: string }) => void warnings.push(String(facts.reason)) }
  const queue = await testQueue(t, { directory, driver, log })
  const { total } = await queue.tasks.list({}, { limit: 1, from: null, reverse: false })
  return { ...queue, total, warnings }
}

for (const driver of drivers) {
  for (const ending of ['killed', 'stopped', 'exited'] as const) {
    test(`${driver}: a store whose process ${how[ending]} opens without warnings, repeatedly`, async (t) => {
      const directory = await copyOf(t, driver, ending)
      for (const more of [0, 1]) {
        const { tasks, total, warnings, close } = await reopened(t, directory, driver)
        t.is(total, TASKS + (ending === 'exited' ? 20 : 0) + more)
        t.deepEqual(warnings, [])
        await tasks.enqueue(create('another'))
        await close()
      }
    })

    test(`${driver}: a bit flipped in the file of a store whose process ${how[ending]} prevents the start`, async (t) => {
      const directory = await copyOf(t, driver, ending)
      const path = fileIn(directory, 'tasks.db')
      const { pages } = readLogAt(`${path}-wal`)
      const file = openSync(path, 'r+')
      t.teardown(() => closeSync(file))
      const { size } = await stat(path)
      const random = numbers(1)
      const byte = Buffer.alloc(1)
      let refused = 0
      for (let flip = 0; flip < FLIPS; flip++) {
        const at = Math.floor(random() * size)
        const page = 1 + Math.floor(at / 4096)
        const flipped = () => {
          readSync(file, byte, 0, 1, at)
          byte[0]! ^= 1 << (flip % 8)
          writeSync(file, byte, 0, 1, at)
        }
        flipped()
        const found = inspectStore(directory)
        flipped()
        if (pages.has(page) || page > found.pages!.checksums.pages) continue
        refused++
        t.regex(
          objection(found) ?? '',
          new RegExp(`page ${page} of its file is|header|ends at transaction`),
          `byte ${at}`,
        )
      }
      t.true(refused > FLIPS / 4, `${refused} flips were in pages of the file`)
      t.is(objection(inspectStore(directory)), null)
    })
  }

  test(`${driver}: a process may repeatedly exit without closing its store`, async (t) => {
    const directory = await copyOf(t, driver, 'exited')
    // More than one checkpoint, a few transactions, and no transaction.
    for (const more of [300, 3, 0]) await exit(directory, driver, more)
    const { total, warnings } = await reopened(t, directory, driver)
    t.is(total, TASKS + 20 + 303)
    t.deepEqual(warnings, [])
  })

  for (const ending of ['killed', 'exited'] as const) {
    test(`${driver}: a new store whose process ${how[ending]} before its first checkpoint opens without warnings`, async (t) => {
      const directory = join(await temporaryDirectory(t), 'data')
      if (ending === 'killed') await kill(t, directory, driver, 3)
      else await exit(directory, driver, 3)
      t.false(existsSync(fileIn(directory, 'tasks.db-checksums')))
      t.deepEqual(lostProtections(directory, inspectStore(directory)), [])
      const { total, warnings } = await reopened(t, directory, driver)
      t.is(total, 3)
      t.deepEqual(warnings, [])
    })
  }

  test(`${driver}: the log of a store stays short`, async (t) => {
    const { size } = await stat(fileIn(sampleOf(driver, 'killed'), 'tasks.db-wal'))
    t.true(size < 5_000_000, `${size} bytes`)
  })

  test(`${driver}: a compacted store opens without warnings`, async (t) => {
    const directory = await copyOf(t, driver, 'stopped')
    const { tasks } = await reopened(t, directory, driver)
    await tasks.compact()
    await tasks.enqueue(create('another'))
    const killed = join(await temporaryDirectory(t), 'data')
    await cp(directory, killed, { recursive: true })
    await unlock(killed)
    const { total, warnings } = await reopened(t, killed, driver)
    t.is(total, TASKS + 1)
    t.deepEqual(warnings, [])
  })
}

const losses: Readonly<Record<string, (checksums: string) => Promise<unknown>>> = {
  deleted: (checksums) => rm(checksums),
  emptied: (checksums) => truncate(checksums, 0),
  'cut by a byte': async (checksums) => truncate(checksums, (await stat(checksums)).size - 1),
  'with a bit flipped': async (checksums) => {
    const bytes = await readFile(checksums)
    bytes[200]! ^= 4
    await writeFile(checksums, bytes)
  },
}
for (const [name, damage] of Object.entries(losses)) {
  for (const ending of ['killed', 'stopped'] as const) {
    test(`checksums ${name}, of a store whose process ${how[ending]}, are reported and computed again`, async (t) => {
      const directory = await copyOf(t, 'libsql', ending)
      await damage(fileIn(directory, 'tasks.db-checksums'))
      const first = await reopened(t, directory, 'libsql')
      t.is(first.total, TASKS)
      t.deepEqual(first.warnings, ['the checksums of its pages are missing or damaged'])
      await first.close()
      const second = await reopened(t, directory, 'libsql')
      t.deepEqual(second.warnings, [])
    })
  }
}

test('without hard links, a killed store only loses its checksums', async (t) => {
  const directory = await copyOf(t, 'libsql', 'stopped')
  const patch = join(await temporaryDirectory(t), 'patch.cjs')
  const error = `Object.assign(new Error('ENOTSUP'), { code: 'ENOTSUP', syscall: 'link' })`
  await writeFile(patch, `require('node:fs').linkSync = () => { throw ${error} }`)
  const opening = async (end: 'killed' | 'closed') => {
    const child = fileURLToPath(new URL('../../tasks/exit-child.js', import.meta.url))
    const env = { ...process.env, NODE_OPTIONS: `--require ${patch}` }
    await promisify(execFile)(process.execPath, [child, directory, 'libsql', '3', end], { env })
    await unlock(directory)
  }
  await opening('closed')
  const closed = await reopened(t, directory, 'libsql')
  t.deepEqual(closed.warnings, [])
  await closed.close()
  await opening('killed')
  const killed = await reopened(t, directory, 'libsql')
  t.is(killed.total, TASKS + 6)
  t.deepEqual(killed.warnings, ['the checksums of its pages are missing or damaged'])
})
