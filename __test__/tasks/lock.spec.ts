/** A data directory has one owner, however many processes find the lock of a dead one at the same time. */
import { spawnSync } from 'node:child_process'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { claim, DirectoryInUseError } from '../../ts/sqlite/index.js'
import { temporaryDirectory } from './test-queue.js'

/** The content of a lock of this process, with another pid. */
async function lockOf(pid: number, directory: string): Promise<string> {
  const path = join(directory, 'sample')
  const release = await claim(path)
  const owner = JSON.parse(await readFile(path, 'utf8')) as object
  release()
  return JSON.stringify({ ...owner, pid })
}

/** The pid of a process that has ended. */
const deadPid = (): number => spawnSync(process.execPath, ['--version']).pid

for (const state of ['of a dead process', 'that a crash truncated'] as const)
  test(`one of several that find a lock ${state} gets it`, async (t) => {
    const directory = await temporaryDirectory(t)
    const path = join(directory, 'lock')
    const dead = await lockOf(deadPid(), directory)
    await writeFile(path, state === 'of a dead process' ? dead : dead.slice(0, 9))
    const claims = await Promise.allSettled([claim(path), claim(path), claim(path)])
    const releases = claims.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
    const errors = claims.flatMap((one): unknown[] => (one.status === 'rejected' ? [one.reason] : []))
    t.is(releases.length, 1)
    t.true(errors.every((error) => error instanceof DirectoryInUseError))
    t.deepEqual(await readdir(directory), ['lock'])
    for (const release of releases) release()
    t.deepEqual(await readdir(directory), [])
  })

test('an owner does not remove the lock of another host that has taken it over', async (t) => {
  const directory = await temporaryDirectory(t)
  const path = join(directory, 'lock')
  const release = await claim(path)
  const other = JSON.stringify({ pid: 1, started: '', space: `not ${hostname()}` })
  await writeFile(path, other)
  release()
  t.is(await readFile(path, 'utf8'), other)
})
