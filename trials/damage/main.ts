/**
 * npm run trials -- damage --engine native|fallback [--faults N] [--seed S] [--jobs J] [--only NUMBERS|PATH] [--directory D]
 *
 * Damages copies of a data directory file by file and prints what a server, `siftd verify` and `siftd repair` did with
 * each kind of damage. Ends with 1 if any of them was wrong.
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

Damages copies of a data directory file by file and prints what a server did with each kind of damage.

  --engine NAME      native or fallback                  (default fallback)
  --faults N         damages to try                      (default 1000)
  --seed S           which ones                          (default 1)
  --jobs J           servers at a time                   (default 2)
  --only NUMBERS     these damages alone, told in full
  --only PATH        damages to files whose paths begin so, such as tasks/
  --minutes N        stop after that time                (default: no limit)
  --directory D      keeps the undamaged data there, so that a damage meets the same bytes again
  --no-repair        leaves out siftd repair, which takes half of the time
  --verbose          tells of every damage, not of failures alone

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
/** All numbers from 0 on. */
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
  told: ({ fault, done, class: found, reasons }) => {
    const isFailing = failing.has(found)
    if (!isFailing && only === undefined && !values.verbose) return
    console.log(`${fault.number} (${fault.ending}) ${fault.path}: ${done}: ${found}`)
    for (const reason of only === undefined ? reasons.slice(0, 4) : reasons) console.log(`    ${reason}`)
  },
})
console.log(outcomeTable(verdicts))
const failures = verdicts.filter((verdict) => failing.has(verdict.class))
const seconds = Math.round((Date.now() - started) / 1000)
console.log(`${engine}: ${verdicts.length} faults in ${seconds} s, ${failures.length} of them failures`)
const again = `npm run trials -- damage --engine ${engine} --seed ${values.seed} --directory ${directory} --only`
if (failures.length > 0) console.log(`again: ${again} ${failures.map(({ fault }) => fault.number).join()}`)
else if (values.directory === undefined) await rm(directory, { recursive: true, force: true })
process.exitCode = failures.length > 0 ? 1 : 0
