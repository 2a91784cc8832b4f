import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { buildLibrary, failingCalls } from '../../../trials/faults/library.js'
import { operations } from '../../../trials/interrupted/operations.js'
import { type Interruption, interruptedRun, usualRun } from '../../../trials/interrupted/trial.js'
import { makeWorld, type World } from '../../../trials/interrupted/world.js'
import { nativeEngine } from '../../support/requirements.js'
import { testNeeding } from '../../support/test-needing.js'

// All operations: npm run trials -- interrupted. Only compaction differs much between the engines, so each engine runs
// one other operation.

/** Engine, operation, interruption, and fraction of the system calls before it. */
const cases: readonly (readonly [string, string, Interruption, number])[] = [
  ['fallback', 'dump', 'full', 0.39],
  ['fallback', 'compaction', 'full', 0.4],
  ['native', 'snapshot', 'full', 0.3],
  ['native', 'compaction', 'killed', 0.72],
]

let [directory, library] = ['', '']
const worlds = new Map<string, Promise<World>>()

function worldOf(engine: string): Promise<World> {
  const made = worlds.get(engine) ?? makeWorld(engine, join(directory, engine))
  worlds.set(engine, made)
  return made
}

test.before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'siftd-interrupted-'))
  if (failingCalls.missing === null) library = buildLibrary(directory)
})
test.after.always(() => rm(directory, { recursive: true, force: true }))

for (const [engine, name, kind, part] of cases) {
  const runs = testNeeding(engine === 'native' ? [nativeEngine, failingCalls] : [failingCalls])
  const how = kind === 'killed' ? 'by a kill' : 'by a full disk'
  runs(
    `${engine}, ${name}: interrupted ${how}, it loses no data, leaves no files and can be repeated`,
    async (t) => {
      t.timeout(300_000)
      const world = await worldOf(engine)
      const operation = operations.find((one) => one.name === name)!
      const setup = { world, operation, library, directory }
      const usual = await usualRun(setup)
      const { isInterrupted, problems } = await interruptedRun(
        setup,
        usual,
        kind,
        Math.floor(part * usual.calls),
      )
      t.deepEqual(problems, [])
      t.true(isInterrupted)
    },
  )
}
