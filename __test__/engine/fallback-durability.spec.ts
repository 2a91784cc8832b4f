/** What the fallback engine's log survives, and what it refuses to read. */
import { readFile, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'ava'
import type { Operation } from '../../ts/engine/engine.js'
import { openFallback } from '../../ts/engine/fallback/index.js'
import { type OpenEngine, TestEngine } from '../support/engine.js'

const open: OpenEngine = (directory) => openFallback({ directory, log: { error: () => undefined } })

const logOf = (engine: TestEngine): string => join(engine.directory, 'indexes/things/commits.log')

async function twoCommits(engine: TestEngine): Promise<{ firstEnd: number; end: number }> {
  await engine.put('things', { id: 1, t: 'first' })
  const firstEnd = (await stat(logOf(engine))).size
  await engine.put('things', { id: 2, t: 'second' })
  return { firstEnd, end: (await stat(logOf(engine))).size }
}

test.serial('a commit cut anywhere is a commit that did not happen', async (t) => {
  const engine = await TestEngine.start(t, open)
  const { firstEnd, end } = await twoCommits(engine)
  const whole = await readFile(logOf(engine))
  const cuts = [firstEnd + 1, firstEnd + 8, firstEnd + 20, Math.floor((firstEnd + end) / 2), end - 1]
  for (const cut of cuts) {
    await engine.engine.close()
    await writeFile(logOf(engine), whole)
    await truncate(logOf(engine), cut)
    await engine.reopen()
    t.deepEqual(await engine.idsFor('things', 'first'), [1], `cut at ${cut}`)
    t.deepEqual(await engine.idsFor('things', 'second'), [], `cut at ${cut}`)
    t.is((await engine.engine.lastCommit('things'))?.batchUid, 1)
    await engine.put('things', { id: 3, t: 'third' })
    await engine.reopen()
    t.deepEqual(await engine.idsFor('things', 'third'), [3], `written after a cut at ${cut}`)
  }
})

test.serial('damage before the last commit is an error that names the file', async (t) => {
  const engine = await TestEngine.start(t, open)
  const { firstEnd } = await twoCommits(engine)
  const bytes = await readFile(logOf(engine))
  bytes[firstEnd - 3]! ^= 0xff
  await engine.engine.close()
  await writeFile(logOf(engine), bytes)
  engine.engine = await open(join(engine.directory, 'indexes'))
  await t.throwsAsync(engine.idsFor('things', 'first'), { message: /commits\.log is damaged/ })
  const [damage] = await engine.engine.verify('things')
  t.is(damage?.path, logOf(engine))
})

test.serial('searches are answered while a large batch is prepared', async (t) => {
  const engine = await TestEngine.start(t, open)
  await engine.put('things', { id: 1, t: 'calm' })
  const words = Array.from({ length: 400 }, (_, at) => `word${at}`).join(' ')
  const many = Array.from({ length: 1500 }, (_, id) => ({ id, t: words }))
  const task = await engine.upload(many)
  let prepared = false
  const preparing = engine.engine
    .prepare('other', {
      uid: 50,
      indexUid: 'other',
      operations: [{ taskUid: 1, ...task } as Operation],
    })
    .then((ticket) => {
      prepared = true
      return ticket
    })
  for (let round = 0; round < 3; round++) t.deepEqual(await engine.idsFor('things', 'calm'), [1])
  t.false(prepared)
  await engine.engine.abandon(await preparing)
})

test.serial('a log full of history is written anew', async (t) => {
  const engine = await TestEngine.start(t, open)
  const filler = 'x'.repeat(1_200_000)
  for (let round = 0; round < 20; round++) await engine.put('things', { id: 1, round, filler: [filler] })
  t.true((await stat(logOf(engine))).size < 16 * 1024 * 1024)
  await engine.reopen()
  t.regex((await engine.documentText('things', '1', { fields: ['round'] })) ?? '', /19/)
  t.is((await engine.engine.lastCommit('things'))?.batchUid, 20)
})
