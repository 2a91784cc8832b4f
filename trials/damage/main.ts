/**
 * npm run trials -- damage --engine native|fallback [--faults N] [--seed S] [--jobs J] [--only NUMBERS|PATH] [--directory D]
 *
 * Damages copies of a data directory file by file and prints how a server, `siftd verify` and `siftd repair` handled
 * each kind of damage. Exits with 1 if any of them failed.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { takeWhile, withinMinutes } from '../deadline.js'
import { damageTrial } from './damage.js'
import { outcomeTable } from './table.js'
import { failing } from './trial.js'

const help = `npm run trials -- damage [options]

Damages copies of a data directory file by file and prints how a server handled each kind of damage.

  --engine NAME      native or fallback                  (default fallback)
  --faults N         damages to try                      (default 1000)
  --seed S           seed of the random damages          (default 1)
  --jobs J           servers at a time                   (default 2)
  --only NUMBERS     only these damages, reported in full
  --only PATH        only damages to files whose paths begin with PATH, such as tasks/
  --minutes N        stop after that time                (default: no limit)
  --directory D      keeps the undamaged data there, so that a repeated damage hits the same bytes
  --no-repair        skips siftd repair, which takes half of the time
  --verbose          reports every damage, not only failures

Examples
  npm run trials -- damage --engine native
  npm run trials -- damage --engine fallback --seed 7 --only 23,55
  npm run trials -- damage --engine fallback --faults 300 --only tasks`

const { values } = parseArgs({
  options: {
    engine: { type: 'string', default: 'fallback' },
    faults: { type: 'string', default: '1000' },
    seed: { type: 'string', default: '1' },
    jobs: { type: 'string', default: '2' },
    only: { type: 'string' },
    minutes: { type: 'string' },
    help: { type: 'boolean', default: false },
    verbose: { type: 'boolean', default: false },
    'no-repair': { type: 'boolean', default: false },
    /** Directory of the world, so that a fault can be repeated on the same bytes. */
    directory: { type: 'string' },
  },
})
if (values.help) {
  console.log(help)
  process.exit(0)
}
const { engine } = values
const only = values.only !== undefined && /^[\d,]+$/.test(values.only) ? values.only : undefined
/** All numbers from 0. */
const everyNumber = {
  *[Symbol.iterator]() {
    for (let number = 0; ; number++) yield number
  },
}
const directory = values.directory ?? (await mkdtemp(join(tmpdir(), 'siftd-damage-')))
const started = Date.now()
const verdicts = await damageTrial({
  engine,
  directory,
  seed: Number(values.seed),
  jobs: Number(values.jobs),
  repairs: !values['no-repair'],
  numbers: takeWhile(
    only === undefined ? everyNumber : only.split(',').map(Number),
    withinMinutes(values.minutes),
  ),
  faultsMax: Number(values.faults),
  below: only === undefined ? (values.only ?? '') : '',
  report: ({ fault, done, class: found, reasons }) => {
    const isFailing = failing.has(found)
    if (!isFailing && only === undefined && !values.verbose) return
    console.log(`${fault.number} (${fault.ending}) ${fault.path}: ${done}: ${found}`)
    for (const reason of only === undefined ? reasons.slice(0, 4) : reasons) console.log(`    ${reason}`)
  },
})
console.log(outcomeTable(verdicts))
const failures = verdicts.filter((verdict) => failing.has(verdict.class))
const seconds = Math.round((Date.now() - started) / 1000)
console.log(`${engine}: ${verdicts.length} faults in ${seconds} s, ${failures.length} failures`)
const again = `npm run trials -- damage --engine ${engine} --seed ${values.seed} --directory ${directory} --only`
if (failures.length > 0)
  console.log(`repeat with: ${again} ${failures.map(({ fault }) => fault.number).join()}`)
else if (values.directory === undefined) await rm(directory, { recursive: true, force: true })
process.exitCode = failures.length > 0 ? 1 : 0
