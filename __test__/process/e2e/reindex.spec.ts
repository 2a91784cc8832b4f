/** Indexes of another version of the analysis, over a restart: the log, the command, and the option of the start. */
import { join } from 'node:path'
import test from 'ava'
import { tempDir } from '../../backup/archives.js'
import { runCommand } from '../../support/command.js'
import { startDaemon, type TestDaemon } from '../../support/daemon.js'
import { directoryOf, storeAnalysis } from '../../support/index-files.js'
import { testEngine } from '../../support/server.js'

/** Several threads answer health checks, where the engine allows it. */
const engine = ['--engine', testEngine, ...(testEngine === 'native' ? ['--http-threads', '3'] : [])]
const older = { segmenter: 'an older one' }

/** The fallback stores versions in its snapshot, which only an index above a megabyte has. */
const films = Array.from({ length: testEngine === 'fallback' ? 1200 : 3 }, (_, id) => ({
  id,
  title: `film ${id}`,
  ...(testEngine === 'fallback' && { filler: 'x '.repeat(500) }),
}))

const health = async (server: TestDaemon): Promise<unknown> => (await server.call('GET', '/health')).body

async function until(condition: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 20))
}

test(`${testEngine}: outdated indexes are logged, and renewed by the command or at the start`, async (t) => {
  const data = join(await tempDir(t), 'data.ms')
  const first = await startDaemon(t, data, engine)
  const { body } = await first.call('POST', '/indexes/films/documents?waitMs=60000', films)
  t.is(body.status, 'succeeded')
  const files = await directoryOf(data, 'films')
  await first.stop()

  await storeAnalysis(files, older)
  const second = await startDaemon(t, data, engine)
  await until(() =>
    /films.*analysed by another version|analysed by another version.*films/.test(second.log()),
  )
  t.regex(second.log(), /run siftd reindex --all/)
  t.like(await health(second), { status: 'available', warnings: [{ code: 'outdated_analysis' }] })
  const url = `http://127.0.0.1:${second.port}`
  const both = await runCommand(['reindex', 'films', '--all', '--url', url])
  t.is(both.code, 2, both.errors.join('\n'))
  const { code, lines, errors } = await runCommand(['reindex', '--all', '--url', url])
  t.is(code, 0, errors.join('\n'))
  t.regex(lines.join('\n'), /^task \d+ succeeded: settingsUpdate of films$/)
  t.deepEqual(await health(second), { status: 'available' })
  await second.stop()

  await storeAnalysis(files, older)
  const third = await startDaemon(t, data, [...engine, '--reindex-on-upgrade'])
  await until(() => /they are analysed again now/.test(third.log()))
  await until(async () => !('warnings' in ((await health(third)) as object)))
  t.is((await third.call('POST', '/indexes/films/search', { q: 'film' })).status, 200)
  await third.stop()
})
