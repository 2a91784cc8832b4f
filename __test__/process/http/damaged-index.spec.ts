/**
 * An instance with damaged files of one index:
 *
 * 1. The server starts, and every other index works.
 * 2. Requests that need the damaged index fail with `index_damaged` and name the file; so do its tasks.
 * 3. It is shown as damaged, and excluded from sums, dumps and metrics.
 * 4. It can be swapped, deleted and recreated.
 */
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { entriesOf, tempDir } from '../../backup/archives.js'
import { startServer, type TestServer, testEngine } from '../../support/server.js'

const films = Array.from({ length: 20 }, (_, id) => ({ id, title: `film ${id}` }))

/** Damages files in the directory of an index. */
type Harm = (directory: string) => Promise<void>

const turned: Harm = async (directory) => {
  const names = (await readdir(directory)).filter((name) => name.startsWith('commit'))
  const name = names.sort().at(-1) ?? ''
  const bytes = await readFile(join(directory, name))
  // Damages the manifest of the native engine, at the end of its file, or the first of two commits of the fallback.
  bytes[name === 'commits.log' ? 40 : bytes.length - 60]! ^= 0x10
  await writeFile(join(directory, name), bytes)
}

const gone: Harm = (directory) => rm(directory, { recursive: true })

/** A server over a healthy index and an index that was damaged while the server was down. */
async function damaged(t: ExecutionContext, harm: Harm) {
  const directory = await tempDir(t)
  const dumpDirectory = join(directory, 'dumps')
  const before = await startServer(t, { directory })
  const known = new Set<string>()
  let id = ''
  for (const uid of ['books', 'films']) {
    await before.settle(t, before.put(`/indexes/${uid}/settings/filterable-attributes`, '["title"]'))
    await before.settle(t, before.post(`/indexes/${uid}/documents`, films))
    const [added = ''] = (await readdir(join(directory, 'indexes'))).filter(
      (name) => name.includes('-') && !known.has(name),
    )
    known.add(added)
    id = added
  }
  await before.stop()
  await harm(join(directory, 'indexes', id))
  return {
    server: await startServer(t, {
      directory,
      dumpDirectory,
      features: ['metrics'],
      allowedNetworks: ['127.0.0.0/8'],
    }),
    dumpDirectory,
    id,
  }
}

const check = (
  t: ExecutionContext,
  body: { readonly code: string; readonly message: string },
  id: string,
) => {
  t.is(body.code, 'index_damaged', body.message)
  t.true(body.message.includes(id), body.message)
  t.regex(body.message, /restore .* or import a dump, or delete the index/)
}

for (const [name, harm] of [
  ['an undecodable file', turned],
  ['a missing directory', gone],
] as const) {
  test.serial(`${testEngine}: an index with ${name} is refused with its code, others work`, async (t) => {
    const { server, id } = await damaged(t, harm)
    const refused = [
      await server.post('/multi-search', { queries: [{ indexUid: 'books' }, { indexUid: 'films' }] }),
      await server.post('/multi-search', { federation: {}, queries: [{ indexUid: 'films' }] }),
      await server.get('/indexes/films/search?q=film'),
      await server.get('/indexes/films/documents'),
      await server.get('/indexes/films/documents/1'),
      await server.get('/indexes/films/settings'),
      await server.get('/indexes/films/stats'),
    ]
    for (const { status, body } of refused) {
      t.is(status, 500)
      check(t, body, id)
    }
    const writes = [
      server.post('/indexes/films/documents', films),
      server.delete('/indexes/films/documents'),
      server.put('/indexes/films/settings/stop-words', '["a"]'),
      server.post('/indexes/films/compact'),
    ]
    for (const write of writes) {
      const task = await server.settle(t, write)
      t.is(task.status, 'failed', JSON.stringify(task))
      check(t, task.error, id)
    }
    t.is((await server.settle(t, server.post('/indexes/books/documents', films))).status, 'succeeded')
    t.is((await server.get('/indexes/books/search?q=film&limit=3')).body.hits.length, 3)
  })

  test.serial(`${testEngine}: an index with ${name} is found by verification, others are not`, async (t) => {
    const { server, id } = await damaged(t, harm)
    const { status, body } = await server.get('/verify')
    t.is(status, 200)
    const findings = body.findings as readonly {
      indexUid: string
      file: string
      cost: string
      isHarmful: boolean
    }[]
    t.true(findings.length > 0)
    for (const { indexUid, file, cost, isHarmful } of findings) {
      t.deepEqual([indexUid, isHarmful], ['films', true])
      t.true(file.includes(id), file)
      t.regex(cost, /run `siftd repair`.* or restore a backup, or delete the index/)
    }
    t.is((await server.settle(t, server.delete('/indexes/films'))).status, 'succeeded')
    // The directory of a deleted index is removed after the end of its task.
    const left = (await server.get('/verify')).body.findings as typeof findings
    t.false(left.some(({ isHarmful }) => isHarmful))
  })

  test.serial(
    `${testEngine}: an index with ${name} is shown as damaged, and excluded from sums and dumps`,
    async (t) => {
      const { server, dumpDirectory, id } = await damaged(t, harm)
      const stats = await server.get('/stats')
      t.is(stats.status, 200)
      t.deepEqual(Object.keys(stats.body.indexes as object), ['books'])
      t.regex((stats.body.damagedIndexes as { films: string }).films, new RegExp(id))
      const { results } = (await server.get('/indexes')).body
      t.deepEqual(
        results.map(({ uid, damage }) => [uid, typeof damage]),
        [
          ['books', 'undefined'],
          ['films', 'string'],
        ],
      )
      t.is((await server.get('/indexes/films')).body.damage, results[1]?.damage)
      const metrics = (await server.get('/metrics')).bytes.toString()
      t.regex(metrics, /index_docs_count\{index="books"\} 20/)
      t.notRegex(metrics, /index_docs_count\{index="films"\}/)
      t.regex(metrics, /damaged_index_count 1/)
      const dump = await server.settle(t, server.post('/dumps'))
      t.is(dump.status, 'succeeded')
      t.deepEqual(Object.keys(dump.details.damagedIndexes as object), ['films'])
      const entries = await entriesOf(t, join(dumpDirectory, `${dump.details.dumpUid}.dump`))
      const indexes = [...entries.keys()].filter((path) => path.startsWith('indexes/'))
      t.true(indexes.length > 0 && indexes.every((path) => path.startsWith('indexes/books/')), indexes.join())
    },
  )

  test.serial(`${testEngine}: an index with ${name} is excluded from exports`, async (t) => {
    const { server } = await damaged(t, harm)
    const target = await startServer(t)
    const accepted = await server.post('/export', { url: target.url })
    const task = await server.settle(t, Promise.resolve(accepted))
    t.is(task.status, 'succeeded')
    t.deepEqual(Object.keys(task.details.damagedIndexes as object), ['films'])
    t.deepEqual(Object.keys(task.details.indexes as object), ['books'])
    const sent = (await target.get('/tasks')).body.results
    t.true(sent.length > 0 && sent.every(({ indexUid }) => indexUid === 'books'))
  })

  test.serial(`${testEngine}: an index with ${name} can be swapped, deleted and recreated`, async (t) => {
    const { server } = await damaged(t, harm)
    await refill(t, server, 'fresh')
    const pair = [{ indexes: ['films', 'fresh'] }]
    t.is((await server.settle(t, server.post('/swap-indexes', pair))).status, 'succeeded')
    t.is((await server.get('/indexes/films/search?q=film&limit=3')).body.hits.length, 3)
    t.is((await server.settle(t, server.delete('/indexes/fresh'))).status, 'succeeded')
    t.is((await server.get('/indexes/fresh')).body.code, 'index_not_found')
    await refill(t, server, 'fresh')
    t.deepEqual(Object.keys((await server.get('/stats')).body.indexes as object), ['books', 'films', 'fresh'])
    t.is((await server.get('/stats')).body.damagedIndexes, undefined)
  })
}

async function refill(t: ExecutionContext, server: TestServer, uid: string): Promise<void> {
  t.is((await server.settle(t, server.post(`/indexes/${uid}/documents`, films))).status, 'succeeded')
  t.is((await server.get(`/indexes/${uid}/search?q=film&limit=3`)).body.hits.length, 3)
}

test.serial(`${testEngine}: verification reports a damaged waiting upload and its task`, async (t) => {
  const directory = await tempDir(t)
  const server = await startServer(t, { directory, limits: { tasksMax: 0 } })
  const large = Array.from({ length: 3000 }, (_, id) => ({ id, title: 'a long title '.repeat(10) }))
  const { body: task } = await server.post('/indexes/films/documents', large)
  t.deepEqual((await server.get('/verify')).body, { findings: [] })
  const [name = ''] = await readdir(join(directory, 'update_files'))
  const path = join(directory, 'update_files', name)
  const bytes = await readFile(path)
  bytes[1000]! ^= 1
  await writeFile(path, bytes)
  const { findings } = (await server.get('/verify')).body as unknown as {
    findings: Record<string, unknown>[]
  }
  t.is(findings.length, 1)
  t.like(findings[0], { indexUid: 'films', isHarmful: true })
  t.true(String(findings[0]?.file).endsWith(name))
  t.regex(String(findings[0]?.cost), new RegExp(`task ${task.taskUid} .*upload_damaged`))
})

test.serial(`${testEngine}: verification requires a key for all actions`, async (t) => {
  const masterKey = 'a-master-key-of-32-characters-xx'
  const server = await startServer(t, { masterKey })
  for (const [actions, indexes, status] of [
    [['*'], ['*'], 200],
    [['*'], ['films'], 403],
    [['stats.get', 'indexes.*', '*.get'], ['*'], 403],
  ] as const) {
    const { body: key } = await server.post('/keys', { actions, indexes, expiresAt: null })
    const answer = await server.get('/verify', { headers: { authorization: `Bearer ${key.key}` } })
    t.is(answer.status, status, `${actions} on ${indexes}`)
  }
  t.is((await server.get('/verify')).status, 200)
})
