/** A task upgrades data of an older version before all other tasks. */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { cp, mkdtemp, readdir, readFile, rm, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { readVersion } from '../../../ts/instance/index.js'
import { packageVersion } from '../../../ts/launch/index.js'
import { tempDir } from '../../backup/archives.js'
import { runCommand } from '../../support/command.js'
import { startDaemon, type TestDaemon } from '../../support/daemon.js'
import { testEngine } from '../../support/server.js'

const OLDER = '0.0.9'
const version = packageVersion()
const DOCUMENTS = 500

const engine = ['--engine', testEngine]
/** Options that pause the task queue. */
const held = ['--experimental-max-number-of-batched-tasks', '0']

async function settled(server: TestDaemon, uid: unknown) {
  for (;;) {
    const { body } = await server.call('GET', `/tasks/${uid}`)
    if (body.status !== 'enqueued' && body.status !== 'processing') return body
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

const count = async (server: TestDaemon): Promise<unknown> =>
  (await server.call('GET', '/indexes/things/stats')).body.numberOfDocuments

const upgrades = async (server: TestDaemon) =>
  (await server.call('GET', '/tasks?types=upgradeDatabase')).body.results

/** Data directory of a stopped server, with an index and a waiting task. */
let template = ''
test.before(async (t) => {
  template = join(await mkdtemp(join(tmpdir(), 'siftd-upgrade-')), 'data.ms')
  const ends: (() => unknown)[] = []
  const start = (...args: readonly string[]) =>
    startDaemon({ teardown: (end) => void ends.push(end) }, template, [...engine, ...args])
  const server = await start()
  const documents = Array.from({ length: DOCUMENTS }, (_, id) => ({ id, t: `word${id % 97} and ${id}` }))
  const added = await server.call('POST', '/indexes/things/documents', documents)
  await settled(server, added.body.taskUid)
  await server.stop()
  const holding = await start(...held)
  await holding.call('POST', '/indexes/things/documents', [{ id: 'late', t: 'later' }])
  await holding.stop()
  for (const end of ends) await end()
  t.true(existsSync(template))
})
test.after.always(() => rm(join(template, '..'), { recursive: true, force: true }))

async function stopped(t: ExecutionContext) {
  const parent = await tempDir(t)
  const [data, snapshots] = [join(parent, 'data.ms'), join(parent, 'snapshots')]
  await cp(template, data, { recursive: true })
  const given = [...engine, '--snapshot-dir', snapshots]
  const start = (...args: readonly string[]) => startDaemon(t, data, [...given, ...args])
  const refused = async (...args: readonly string[]) => {
    const all = ['--db-path', data, '--http-addr', '127.0.0.1:0', ...given, ...args]
    const { code, errors } = await runCommand(all)
    return { code, error: errors.join('\n') }
  }
  const written = (by: string) => writeFile(join(data, 'VERSION'), `${by}\n`)
  const archive = join(snapshots, `data.ms-before-${version}.snapshot`)
  return { parent, data, given, snapshots, start, refused, written, archive }
}

/** Returns the checksum of each file by path. */
async function filesIn(directory: string): Promise<Readonly<Record<string, string>>> {
  const entries = (await readdir(directory, { recursive: true, withFileTypes: true })).filter((it) =>
    it.isFile(),
  )
  const read = entries.map(async ({ parentPath, name }) => {
    const path = join(parentPath, name)
    return [
      path,
      createHash('sha256')
        .update(await readFile(path))
        .digest('hex'),
    ] as const
  })
  return Object.fromEntries((await Promise.all(read)).sort())
}

test.serial(
  'data of an older version without the flag and data of a newer version are refused and not changed',
  async (t) => {
    const { data, snapshots, refused, written } = await stopped(t)
    for (const [by, args, message] of [
      [OLDER, [], /written by version 0\.0\.9 and this is .*--upgrade-db/],
      ['99.0.0', [], /written by version 99\.0\.0 and this is .*start siftd 99/],
      ['99.0.0', ['--upgrade-db'], /written by version 99\.0\.0/],
      ['', ['--upgrade-db'], /no VERSION file, or an empty one/],
      ['abc', ['--upgrade-db'], /unreadable version `abc`/],
    ] as const) {
      await written(by)
      const before = await filesIn(data)
      const { code, error } = await refused(...args)
      t.is(code, 1)
      t.regex(error, message)
      t.false(error.includes('\n'), error)
      t.deepEqual(await filesIn(data), before, by)
      t.false(existsSync(snapshots))
    }
  },
)

test.serial('an upgrade is a task that runs first, after a snapshot of the old data', async (t) => {
  const { parent, data, start, written, archive, snapshots } = await stopped(t)
  await written(OLDER)
  const server = await start('--upgrade-db')
  const [task] = await upgrades(server)
  const ended = await settled(server, task?.uid)
  t.is(ended.status, 'succeeded', JSON.stringify(ended))
  t.deepEqual(ended.details, { upgradeFrom: `v${OLDER}`, upgradeTo: `v${version}` })
  t.is(ended.indexUid, null)
  const waited = await settled(server, 1)
  t.is(waited.status, 'succeeded')
  t.true((ended.batchUid as number) < (waited.batchUid as number))
  t.is(await count(server), DOCUMENTS + 1)
  t.is((await readVersion(data)).version, version)
  t.false(existsSync(join(data, 'UPGRADE')))
  t.deepEqual(await readdir(snapshots), [`data.ms-before-${version}.snapshot`])
  await server.stop()

  const again = await start('--upgrade-db')
  t.is((await upgrades(again)).length, 1, 'no second upgrade runs')
  await again.stop()

  const restored = join(parent, 'restored.ms')
  const unasked = await runCommand(['--db-path', restored, ...engine, '--import-snapshot', archive])
  t.regex(unasked.errors.join('\n'), /written by version 0\.0\.9/)
  const own = [
    ...engine,
    '--snapshot-dir',
    join(parent, 'others'),
    '--import-snapshot',
    archive,
    '--upgrade-db',
  ]
  const back = await startDaemon(t, restored, own)
  t.is((await settled(back, (await upgrades(back))[0]?.uid)).status, 'succeeded')
  t.is((await settled(back, 1)).status, 'succeeded')
  t.is(await count(back), DOCUMENTS + 1)
  t.false(existsSync(join(parent, 'others')), 'a restored snapshot needs no new snapshot')
})

test.serial('an upgrade runs without a snapshot with --upgrade-without-snapshot', async (t) => {
  const { start, written, snapshots } = await stopped(t)
  await written(OLDER)
  const server = await start('--upgrade-db', '--upgrade-without-snapshot')
  t.is((await settled(server, (await upgrades(server))[0]?.uid)).status, 'succeeded')
  t.false(existsSync(snapshots))
})

test.serial(
  'an upgrade whose snapshot cannot be written is refused with a one-line message, without changes',
  async (t) => {
    const { data, refused, written, snapshots, start } = await stopped(t)
    await written(OLDER)
    await writeFile(snapshots, 'a file where the directory should be')
    const before = await filesIn(data)
    const { code, error } = await refused('--upgrade-db')
    t.is(code, 1)
    t.regex(error, /was not upgraded, because its snapshot failed.*--upgrade-without-snapshot/)
    t.deepEqual(await filesIn(data), before)
    await unlink(snapshots)
    const server = await start('--upgrade-db')
    t.is((await settled(server, (await upgrades(server))[0]?.uid)).status, 'succeeded')
  },
)

test.serial('an upgrade of a directory that another process has open is refused', async (t) => {
  const { start, refused, written, snapshots } = await stopped(t)
  await start()
  await written(OLDER)
  const { code, error } = await refused('--upgrade-db')
  t.is(code, 1)
  t.regex(error, /in use by process/)
  t.false(error.includes('\n'), error)
  t.false(existsSync(snapshots))
})
