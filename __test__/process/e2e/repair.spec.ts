/** `siftd repair` rebuilds what it can, rescues readable documents, and changes no undamaged index. */
import { appendFile, cp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import test, { type ExecutionContext } from 'ava'
import { markDataDirectory, readVersion } from '../../../ts/instance/index.js'
import { packageVersion } from '../../../ts/launch/index.js'
import { tempDir } from '../../backup/archives.js'
import { runCommand, startCommand } from '../../support/command.js'
import { startDaemon } from '../../support/daemon.js'
import { damageDocuments, damagePart, directoryOf, flipBit } from '../../support/index-files.js'
import { startServer, type TestServer, testEngine } from '../../support/server.js'

const film = (id: number) => ({ id, title: `film ${id} ${'of words '.repeat(8)}`, year: 1900 + id })
const films = Array.from({ length: 300 }, (_, id) => film(id))
const star = (id: number) => ({ id, name: `star ${id}`, _vectors: { sight: [id / 10, 1, 0.5] } })
const stars = Array.from({ length: 20 }, (_, id) => star(id))

/** Creates a data directory with `films` in three commits, `stars` with vectors, and a waiting task of `films`. */
async function made(t: ExecutionContext): Promise<string> {
  const directory = await tempDir(t)
  const server = await startServer(t, { directory })
  const settings = { filterableAttributes: ['year'], sortableAttributes: ['year'] }
  await server.settle(t, server.patch('/indexes/films/settings', settings))
  for (const from of [0, 100, 200])
    await server.settle(t, server.post('/indexes/films/documents', films.slice(from, from + 100)))
  const embedders = { sight: { source: 'userProvided', dimensions: 3 } }
  await server.settle(t, server.patch('/indexes/stars/settings', { embedders }))
  await server.settle(t, server.post('/indexes/stars/documents', stars))
  await server.stop()
  const waiting = await startServer(t, { directory, limits: { tasksMax: 0 } })
  await waiting.post('/indexes/films/documents', [film(300)])
  await waiting.stop()
  await markDataDirectory(directory, packageVersion(), null)
  await writeFile(join(directory, 'engine'), testEngine)
  return directory
}

async function answersOf(server: TestServer, index: string): Promise<unknown> {
  const searches = [
    { q: 'film 77' },
    { q: '', limit: 5, filter: 'year > 1950', sort: ['year:desc'], facets: ['year'] },
    { q: 'star', limit: 30, hybrid: { embedder: 'sight', semanticRatio: 1 }, vector: [0.4, 1, 0.5] },
  ]
  const own = index === 'films' ? searches.slice(0, 2) : searches.slice(2)
  const answers = await Promise.all(own.map((search) => server.post(`/indexes/${index}/search`, search)))
  const listed = await server.post(`/indexes/${index}/documents/fetch`, {
    limit: 1000,
    retrieveVectors: true,
  })
  return [...answers.map(({ body }) => body.hits ?? body.code), listed.body.results ?? listed.body.code]
}

/** Starts a server with a directory and waits for all tasks. @returns its answers */
async function answersIn(t: ExecutionContext, directory: string, index: string): Promise<unknown> {
  const server = await startServer(t, { directory })
  await idle(server)
  const answers = await answersOf(server, index)
  await server.stop()
  return answers
}

/** Waits until no task is enqueued or processing. */
async function idle(server: TestServer): Promise<void> {
  while ((await server.get('/tasks?statuses=enqueued,processing')).body.total > 0) await sleep(10)
}

const repairOf = (directory: string, ...flags: string[]) =>
  runCommand(['repair', '--db-path', directory, ...flags])

const linesIn = async (path: string): Promise<number> => (await readFile(path, 'utf8')).split('\n').length - 1

test(`${testEngine}: an undamaged directory is not changed`, async (t) => {
  const directory = await made(t)
  const before = await answersIn(t, await copyOf(t, directory), 'films')
  const { code, lines } = await repairOf(directory)
  t.deepEqual([code, lines], [0, [`${directory} is sound`]])
  t.deepEqual(await answersIn(t, directory, 'films'), before)
})

async function copyOf(t: ExecutionContext, directory: string): Promise<string> {
  const copy = join(await tempDir(t), 'copy')
  await cp(directory, copy, { recursive: true })
  return copy
}

test(`${testEngine}: an index that lost documents is set aside, and the readable ones are rescued`, async (t) => {
  const directory = await made(t)
  const sound = await answersIn(t, await copyOf(t, directory), 'stars')
  await damageDocuments(await directoryOf(directory, 'films'))
  const { code, lines, errors } = await repairOf(directory)
  t.is(code, 1, errors.join('\n'))
  t.true(lines.some((line) => /damaged: index films: /.test(line)))
  t.true(lines.some((line) => /renamed to `films-damaged`/.test(line)))
  t.is(lines.at(-1), `1 repair in ${directory}, 1 of them with losses`)
  const rescued = join(directory, 'rescued', 'films.ndjson')
  t.true((await linesIn(rescued)) >= 100)
  t.is((await stat(rescued)).mode & 0o077, 0, 'rescued documents are readable only by the owner')

  const server = await startServer(t, { directory })
  await idle(server)
  t.deepEqual(await answersOf(server, 'stars'), sound)
  t.is((await server.post('/indexes/films-damaged/search', { q: '' })).body.code, 'index_damaged')
  t.is((await server.post('/indexes/films/search', { q: '' })).body.code, 'index_not_found')
  const settings = JSON.parse(await readFile(join(directory, 'rescued', 'films.settings.json'), 'utf8'))
  await server.settle(t, server.patch('/indexes/films/settings', settings))
  const documents = (await readFile(rescued, 'utf8')).trim().split('\n')
  await server.settle(
    t,
    server.post(
      '/indexes/films/documents',
      documents.map((line) => JSON.parse(line) as object),
    ),
  )
  const { body } = await server.post('/indexes/films/search', { filter: 'year >= 1900', limit: 1000 })
  t.is(body.hits.length, documents.length)
  await server.settle(t, server.delete('/indexes/films-damaged'))
  const { findings } = (await server.get('/verify')).body as unknown as { findings: { isHarmful: boolean }[] }
  t.deepEqual(
    findings.filter(({ isHarmful }) => isHarmful),
    [],
  )
})

test(`${testEngine}: --accept-loss rebuilds an index from readable documents and runs its tasks`, async (t) => {
  const directory = await made(t)
  await damageDocuments(await directoryOf(directory, 'films'))
  const { code, lines } = await repairOf(directory, '--accept-loss')
  t.is(code, 1)
  t.true(lines.some((line) => /done: rebuilt from \d+ documents/.test(line)))
  t.true(lines.some((line) => /lost: /.test(line)))
  t.deepEqual((await runCommand(['verify', '--db-path', directory])).code, 0)
  const server = await startServer(t, { directory })
  await idle(server)
  const { body } = await server.post('/indexes/films/search', { filter: 'year >= 2200', limit: 1000 })
  t.deepEqual(
    body.hits.map(({ id }) => id),
    [300],
  )
  const all = await server.post('/indexes/films/documents/fetch', { limit: 1000 })
  t.true(all.body.total >= 101 && all.body.total < 301, `${all.body.total}`)
})

if (testEngine === 'native')
  for (const part of ['term', 'idx', 'pos', 'fast', 'fieldnorm'])
    test(`native: an index with a damaged ${part} is rebuilt without loss`, async (t) => {
      const directory = await made(t)
      const sound = await Promise.all(
        ['films', 'stars'].map(async (index) => answersIn(t, await copyOf(t, directory), index)),
      )
      for (const index of ['films', 'stars']) await damagePart(await directoryOf(directory, index), part)
      const { code, lines } = await repairOf(directory)
      t.is(code, 0, lines.join('\n'))
      t.is(lines.filter((line) => /done: rebuilt from /.test(line)).length, 2)
      t.deepEqual(await answersIn(t, directory, 'films'), sound[0])
      t.deepEqual(await answersIn(t, directory, 'stars'), sound[1])
    })

test(`${testEngine}: an index without its directory is reported, and other indexes work`, async (t) => {
  const directory = await made(t)
  await rm(await directoryOf(directory, 'films'), { recursive: true })
  const { code, lines } = await repairOf(directory)
  t.is(code, 1)
  for (const told of [/^damaged: index films: /, /the directory is missing|no such (file|directory)/])
    t.true(
      lines.some((line) => told.test(line)),
      lines.join('\n'),
    )
  const server = await startServer(t, { directory })
  t.is((await server.post('/indexes/stars/search', { q: 'star' })).status, 200)
})

test(`${testEngine}: a damaged task store is rebuilt from the indexes`, async (t) => {
  const directory = await made(t)
  const sound = await answersIn(t, await copyOf(t, directory), 'stars')
  const store = join(directory, 'tasks', 'tasks.db')
  await flipBit(store, (await stat(store)).size - 300)
  const { code, lines } = await repairOf(directory)
  t.is(code, 1)
  t.true(lines.some((line) => /made a new task store of 2 indexes/.test(line)))
  t.deepEqual(await answersIn(t, directory, 'stars'), sound)
})

test(`${testEngine}: a lost VERSION is written, a newer one is not changed`, async (t) => {
  const directory = await made(t)
  await rm(join(directory, 'VERSION'))
  t.is((await repairOf(directory)).code, 0)
  t.is((await readVersion(directory)).version, packageVersion())
  await markDataDirectory(directory, '99.0.0', null)
  const { code, errors } = await repairOf(directory)
  t.is(code, 1)
  t.regex(errors.join('\n'), /written by version 99\.0\.0/)
  t.is((await readVersion(directory)).version, '99.0.0')
})

for (const [what, text] of [
  ['a version that does not match its checksum', '0.1.2\ncrc32 '],
  ['a version without a checksum', '0.1.2\n'],
  ['bytes', '\0\0\0\0'],
] as const)
  test(`${testEngine}: a VERSION that holds ${what} is refused, named by verify and written by repair`, async (t) => {
    const directory = await made(t)
    const sound = await readFile(join(directory, 'VERSION'), 'utf8')
    await writeFile(join(directory, 'VERSION'), sound.replace(/^.*\n(crc32 )?/, text))
    const verified = await runCommand(['verify', '--db-path', directory])
    t.is(verified.code, 1)
    t.true(verified.lines.some((line) => line.startsWith(`damaged: ${join(directory, 'VERSION')}: `)))
    const started = await runCommand(['--db-path', directory, '--http-addr', '127.0.0.1:0'])
    t.is(started.code, 1)
    t.is((await repairOf(directory)).code, 0)
    t.is(await readFile(join(directory, 'VERSION'), 'utf8'), sound)
  })

if (testEngine === 'fallback')
  test('fallback: a log with damaged first bytes is repaired without loss', async (t) => {
    const directory = await made(t)
    const sound = await answersIn(t, await copyOf(t, directory), 'films')
    await flipBit(join(await directoryOf(directory, 'films'), 'commits.log'), 2)
    const { code, lines } = await repairOf(directory)
    t.is(code, 0, lines.join('\n'))
    t.deepEqual(await answersIn(t, directory, 'films'), sound)
  })

if (testEngine === 'fallback')
  test('fallback: a damaged cache file is removed', async (t) => {
    const directory = await made(t)
    const snapshot = join(await directoryOf(directory, 'films'), 'built.snapshot')
    await writeFile(snapshot, 'no snapshot')
    const { code, lines } = await repairOf(directory)
    t.is(code, 0, lines.join('\n'))
    t.true(lines.some((line) => /removed .*built\.snapshot/.test(line)))
  })

test(`${testEngine}: a repair killed at any moment can be repeated, with the same result`, async (t) => {
  const directory = await made(t)
  await damageDocuments(await directoryOf(directory, 'films'))
  const whole = await copyOf(t, directory)
  await repairOf(whole, '--accept-loss')
  const wanted = await answersIn(t, whole, 'films')
  for (const afterMs of [200, 400, 600]) {
    const copy = await copyOf(t, directory)
    const running = startCommand(['repair', '--db-path', copy, '--accept-loss'])
    await sleep(afterMs)
    running.kill()
    await running.outcome
    const { code, errors } = await repairOf(copy, '--accept-loss')
    t.true(code === 0 || code === 1, errors.join('\n'))
    t.deepEqual(await answersIn(t, copy, 'films'), wanted, `killed after ${afterMs} ms`)
    t.deepEqual(
      (await readdir(join(copy, 'rescued')).catch(() => [])).filter((name) => name.startsWith('.')),
      [],
    )
  }
})

test(`${testEngine}: a directory in use is refused with a one-line message`, async (t) => {
  const directory = await made(t)
  await startDaemon(t, directory, [])
  const { code, lines, errors } = await repairOf(directory)
  t.deepEqual([code, lines, errors.length], [1, [], 1])
  t.regex(errors[0] ?? '', /in use by process \d+/)
})

test('wrong usage and foreign directories end with a one-line message', async (t) => {
  const stranger = await tempDir(t)
  await appendFile(join(stranger, 'letter.txt'), 'dear')
  for (const [args, code] of [
    [['--db-path', stranger], 1],
    [['--db-path', join(stranger, 'none')], 1],
    [['--accept-losses'], 2],
  ] as const) {
    const outcome = await runCommand(['repair', ...args])
    t.deepEqual([outcome.code, outcome.errors.length, outcome.lines], [code, 1, []])
  }
  t.deepEqual(await readdir(stranger), ['letter.txt'])
})
