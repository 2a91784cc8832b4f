/**
 * npm run trials -- interrupted [--engine native|fallback] [--rounds N] [--seed S] [--only NUMBERS]
 *
 * Exits with 1 if an interruption damages or leaves anything.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { numbers } from '../../__test__/support/numbers.js'
import { takeWhile, withinMinutes } from '../deadline.js'
import { buildLibrary, missingLibrary } from '../faults/library.js'
import { operations } from './operations.js'
import { interruptedRun, interruptions, type Usual, usualRun } from './trial.js'
import { makeWorld } from './world.js'

const help = `npm run trials -- interrupted [options]

Interrupts dumps, snapshots, imports, restores, upgrades and compactions at random system calls, by kill -9 or a full
disk. Afterwards the answers must be the same as before, archives with their final name must be complete, the operation
must succeed when it is repeated, and no other files may be left.

  --engine NAME      native or fallback                  (default fallback)
  --rounds N         interruptions                       (default 100)
  --seed S           seed of the random moments          (default 1)
  --only NUMBERS     only these rounds
  --minutes N        stop after that time                (default: no limit)

Examples
  npm run trials -- interrupted --engine native --rounds 20
  npm run trials -- interrupted --engine fallback --only 3,14`

const { values } = parseArgs({
  options: {
    engine: { type: 'string', default: 'fallback' },
    rounds: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string' },
    minutes: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  console.log(help)
  process.exit(0)
}
const reason = missingLibrary()
if (reason !== null) throw new Error(reason)
const { engine, seed, only } = values
const kinds = operations.flatMap((operation) => interruptions.map((kind) => ({ operation, kind })))
const chosen = only === undefined ? [...Array(Number(values.rounds)).keys()] : only.split(',').map(Number)
const directory = await mkdtemp(join(tmpdir(), 'siftd-interrupted-'))
const library = buildLibrary(directory)
const world = await makeWorld(engine, join(directory, 'world'))
const usual = new Map<string, Usual>()
const failed: number[] = []
const interrupted = new Map<string, number>()
const started = Date.now()
let rounds = 0
for (const number of takeWhile(chosen, withinMinutes(values.minutes))) {
  rounds++
  const { operation, kind } = kinds[number % kinds.length]!
  const trial = join(directory, `round-${number}`)
  await mkdir(trial)
  const setup = { world, operation, library, directory: trial }
  const normal = usual.get(operation.name) ?? (await usualRun(setup))
  usual.set(operation.name, normal)
  const random = numbers(Number(seed) * 1_000_003 + number)
  const moment = Math.floor(random() * normal.calls)
  const { isInterrupted, problems } = await interruptedRun(setup, normal, kind, moment)
  const name = `${operation.name}, ${kind}`
  if (isInterrupted) interrupted.set(name, (interrupted.get(name) ?? 0) + 1)
  if (problems.length === 0) {
    await rm(trial, { recursive: true })
    continue
  }
  failed.push(number)
  console.log(`${number}: ${name} after ${moment} of ${normal.calls} calls`)
  for (const problem of problems.slice(0, 4)) console.log(`    ${problem}`)
}
const seconds = Math.round((Date.now() - started) / 1000)
for (const [name, count] of interrupted) console.log(`${engine}: ${name}: ${count} interruptions`)
console.log(`${engine}: ${rounds} rounds in ${seconds} s, ${failed.length} with problems`)
if (failed.length === 0) await rm(directory, { recursive: true, force: true })
else {
  console.log(
    `repeat with: npm run trials -- interrupted --engine ${engine} --seed ${seed} --only ${failed.join()}`,
  )
  console.log(`the data is kept in ${directory}`)
}
process.exitCode = failed.length > 0 ? 1 : 0
