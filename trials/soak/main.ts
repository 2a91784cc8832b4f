/**
 * npm run trials -- soak [--minutes N] [--cycles N] [--engine native|fallback] [--seed S] [--disk-mib N] [--http-threads N]
 *
 * Exits with 1 if the state after a restart contradicts anything that clients or the webhook receiver saw.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { buildLibrary, missingLibrary } from '../faults/library.js'
import { threadsOf } from '../threads.js'
import { soakDisk } from './disk.js'
import { soak } from './trial.js'

const help = `npm run trials -- soak [options]

Starts a server repeatedly on one data directory in a small file system: concurrent searches, writes, settings, swaps,
edits, cancelations, webhooks and dumps, failing system calls, a full disk, a date that jumps by hours, kills. Compares
a healthy server after each cycle with what clients and a webhook receiver saw, and checks the history of some
documents for consistency.

  --minutes N        duration                            (default 10)
  --cycles N         maximum number of cycles            (default: as many as the time allows)
  --engine NAME      native or fallback                  (default fallback)
  --seed S           seed of the load and the failures   (default 1)
  --disk-mib N       size of the file system             (default 256)
  --http-threads N   threads that answer                 (default: that of the server)`

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    cycles: { type: 'string', default: 'Infinity' },
    engine: { type: 'string', default: 'fallback' },
    seed: { type: 'string', default: '1' },
    'disk-mib': { type: 'string', default: '256' },
    'http-threads': { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  console.log(help)
  process.exit(0)
}
const noLibrary = missingLibrary()
if (noLibrary !== null) console.log(`no system calls fail and the date does not jump: ${noLibrary}`)
const directory = await mkdtemp(join(tmpdir(), 'siftd-soak-library-'))
const disk = await soakDisk(Number(values['disk-mib']))
if (disk.reason !== null) console.log(`the disk never becomes full: ${disk.reason}`)
const started = Date.now()
const deadline = started + Number(values.minutes) * 60_000
const resident: number[] = []
let cycles = 0
const { problems, counts } = await soak({
  engine: values.engine,
  seed: Number(values.seed),
  httpThreads: threadsOf(values['http-threads']),
  disk,
  library: noLibrary === null ? buildLibrary(directory) : null,
  shouldContinue: (done) => done < Number(values.cycles) && Date.now() < deadline,
  report({ number, story, residentMib, problems: found }) {
    cycles = number + 1
    if (residentMib !== null) resident.push(residentMib)
    console.log(`${number}: ${story}; ${residentMib ?? '?'} MiB${found.length > 0 ? '; PROBLEMS' : ''}`)
  },
})
const tenth = Math.max(1, Math.floor(resident.length / 10))
const median = (list: readonly number[]): number => list.toSorted((a, b) => a - b)[list.length >> 1] ?? 0
console.log(
  `${values.engine}: ${cycles} lives in ${Math.round((Date.now() - started) / 1000)} s; resident memory ${median(
    resident.slice(0, tenth),
  )} MiB in the first tenth, ${median(resident.slice(-tenth))} MiB in the last; ${problems.length} problems`,
)
console.log(
  `    ${Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ')}`,
)
for (const problem of problems.slice(0, 20)) console.log(`    ${problem}`)
await rm(directory, { recursive: true, force: true })
if (problems.length === 0) await disk.remove()
else
  console.log(
    `repeat with: npm run trials -- soak --engine ${values.engine} --seed ${values.seed}; the data is in ${disk.path}`,
  )
process.exitCode = problems.length > 0 ? 1 : 0
