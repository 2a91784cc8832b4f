/**
 * npm run trials -- memory-cap [--engine native|fallback] [--megabytes N] [--cap-mib N] [options]
 *
 * Exits with 1 if a server used more memory than docs/memory.md allows.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { megabytes } from '../../benchmark/measure.js'
import { allowance, type Load } from './allowance.js'
import { memoryTrial } from './trial.js'

const MIB = 2 ** 20

const help = `npm run trials -- memory-cap [options]

Loads documents over HTTP into a server with a memory limit, measures its memory from outside (Linux), and prints the
growth above the idle server. Exits with 1 if it exceeds the limit in docs/memory.md.

  --engine NAME      native or fallback                  (default native)
  --megabytes N      JSON of the documents               (default 500)
  --cap-mib N        --max-indexing-memory of the server (default 256)
  --cache-mib N      --cache-size of the server          (default 32)
  --upload-mb N      size of one upload                  (default 10)
  --allow-mb N       allowed growth of memory            (default: as in docs/memory.md)
  --seed S           seed of the documents               (default 1)

Example
  npm run trials -- memory-cap --engine fallback --megabytes 20`

const { values } = parseArgs({
  options: {
    engine: { type: 'string', default: 'native' },
    megabytes: { type: 'string', default: '500' },
    'cap-mib': { type: 'string', default: '256' },
    'cache-mib': { type: 'string', default: '32' },
    'upload-mb': { type: 'string', default: '10' },
    'allow-mb': { type: 'string' },
    seed: { type: 'string', default: '1' },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  console.log(help)
  process.exit(0)
}
const { engine } = values
if (engine !== 'native' && engine !== 'fallback')
  throw new Error(`--engine ${engine}: expected native or fallback`)
if (process.platform !== 'linux')
  throw new Error('this trial needs Linux, because it reads memory from /proc')
const number = (name: 'megabytes' | 'cap-mib' | 'cache-mib' | 'upload-mb' | 'allow-mb' | 'seed'): number => {
  const value = Number(values[name])
  if (!(value > 0)) throw new Error(`--${name} ${values[name]}: must be a number above 0`)
  return value
}
const directory = await mkdtemp(join(tmpdir(), 'siftd-memory-cap-'))
const began = performance.now()
try {
  const load: Load = {
    engine,
    indexingBytes: number('cap-mib') * MIB,
    cacheBytes: number('cache-mib') * MIB,
    documentBytes: number('megabytes') * 1e6,
  }
  const allowed = values['allow-mb'] === undefined ? allowance(load) : number('allow-mb') * 1e6
  const { idle, peak, documents } = await memoryTrial({
    ...load,
    uploadBytes: number('upload-mb') * 1e6,
    seed: number('seed'),
    directory,
  })
  const seconds = Math.round((performance.now() - began) / 1000)
  console.log(`${engine}: ${documents} documents, ${values.megabytes} MB, in ${seconds} s`)
  for (const [name, of] of [
    ['own memory', 'own'],
    ['proportional', 'proportional'],
    ['resident', 'resident'],
  ] as const)
    console.log(
      `  ${name.padEnd(12)} idle ${megabytes(idle[of])}, peak ${megabytes(peak[of])}, grown by ${megabytes(peak[of] - idle[of])}`,
    )
  const isWithin = peak.own - idle.own <= allowed
  console.log(`  own memory may grow by ${megabytes(allowed)}: ${isWithin ? 'passed' : 'EXCEEDED'}`)
  process.exitCode = isWithin ? 0 : 1
} finally {
  await rm(directory, { recursive: true, force: true })
}
