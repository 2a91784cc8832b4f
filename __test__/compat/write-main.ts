/**
 * Writes the index, the logs and the instances of this version into `__test__/compat/`. Run it once per format and once per
 * version, and commit the files.
 */
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { openEngine } from '../../ts/engine/select.js'
import { TestEngine } from '../support/engine.js'
import { testedEngines } from '../support/engines.js'
import { formatIn, INDEX, writeCorpus } from './corpus.js'
import { writeInstance } from './instance.js'
import { writeLog } from './log.js'

const silent = (): void => undefined
const log = { debug: silent, info: silent, warn: silent, error: silent }

const engine = await TestEngine.open(
  async (directory) =>
    (await openEngine('native', { directory, log, indexingMemoryBytes: 1e8, indexingThreads: 1 })).engine,
)
await writeCorpus(engine)
const copy = join(engine.directory, 'copy')
await engine.snapshot(INDEX, copy)
const format = formatIn(copy)
const target = join(import.meta.dirname, `../../../__test__/compat/native-${format}`)
rmSync(target, { recursive: true, force: true })
await engine.snapshot(INDEX, target)
await engine.stop()
console.log(`wrote ${target}: ${readdirSync(target).join(', ')}`)
for (const kind of ['native', 'fallback'] as const)
  console.log(`wrote ${await writeInstance(join(target, '..'), kind)}`)
for (const tested of testedEngines) console.log(`wrote ${await writeLog(join(target, '..'), tested)}`)
