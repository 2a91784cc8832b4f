import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { openEngine } from '../../ts/engine/select.js'
import { TestEngine } from '../support/engine.js'
import { nativeEngine } from '../support/requirements.js'
import { testNeeding } from '../support/test-needing.js'
import { FORMAT_AT, formatIn, INDEX, newestCommit, questions } from './corpus.js'

const silent = (): void => undefined
const log = { debug: silent, info: silent, warn: silent, error: silent }
// Compiled tests are in dist/, the indexes next to the sources.
const home = join(import.meta.dirname, '../../../__test__/compat')
const formats = readdirSync(home).filter((name) => /^native-\d+$/.test(name))

const formatOf = (name: string): number => Number(name.slice('native-'.length))

test('at least one index format is stored', (t) => t.not(formats.length, 0))

/** Opens a copy of a stored index, after applying `change`. */
function openCopy(t: ExecutionContext, format: string, change = (_index: string): void => undefined) {
  return TestEngine.start(t, async (directory) => {
    const index = join(directory, INDEX)
    if (!existsSync(index)) cpSync(join(home, format), index, { recursive: true })
    change(index)
    const setup = { directory, log, indexingMemoryBytes: 1e8, indexingThreads: 1 }
    return (await openEngine('native', setup)).engine
  })
}

// The directories were written by the native engine; only it can read them.
const run = testNeeding([nativeEngine], test)

for (const format of formats) {
  run(`an index of ${format} opens, verifies and gives the expected answers`, async (t) => {
    const engine = await openCopy(t, format)
    t.deepEqual(await engine.engine.verify(INDEX), [])
    for (const [question, ids] of questions) {
      const { hits } = await engine.search(INDEX, question)
      t.deepEqual(
        hits.map(({ id }) => id),
        [...ids],
        JSON.stringify(question),
      )
    }
    // It is also writable, in a format that is stored here too.
    await engine.put(INDEX, { id: 6, title: 'Written later', _vectors: { moods: [1, 1] } })
    t.deepEqual(await engine.idsFor(INDEX, 'later'), [6])
    t.deepEqual(await engine.idsFor(INDEX, 'winter'), [1])
    t.true(formats.includes(`native-${formatIn(join(engine.directory, 'indexes', INDEX))}`))
    await engine.reopen()
    t.deepEqual(await engine.idsFor(INDEX, 'later'), [6])
  })
}

run('an index of a later format is refused, naming the file and both formats', async (t) => {
  const newest = formats.sort((a, b) => formatOf(a) - formatOf(b)).at(-1)!
  const engine = await openCopy(t, newest, (index) => {
    const commit = newestCommit(index)
    const bytes = readFileSync(commit)
    bytes.writeUInt32LE(formatOf(newest) + 1, FORMAT_AT)
    writeFileSync(commit, bytes)
  })
  const refused = {
    message: new RegExp(`commit-\\d{20} .*format ${formatOf(newest) + 1}.*formats up to ${formatOf(newest)}`),
  }
  await t.throwsAsync(engine.search(INDEX, { q: 'crane' }), refused)
  await t.throwsAsync(engine.put(INDEX, { id: 1 }), refused)
})
