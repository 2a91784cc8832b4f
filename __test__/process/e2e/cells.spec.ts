/**
 * Two cells over one bucket. Rules:
 * 1. `siftd placement` says which cell has which index, and refuses what would hide one.
 * 2. Any server takes the requests for all indexes.
 * 3. A server starts with the placement that it has read last.
 */
import { join } from 'node:path'
import { tempDir } from '../../backup/archives.js'
import { runCommand } from '../../support/command.js'
import { startDaemon, type TestDaemon } from '../../support/daemon.js'
import { testEngine } from '../../support/server.js'
import { accessKeyId, bucket, secretAccessKey, startStoreProcess } from '../../support/store-servers.js'
import { tests } from './bucket-world.js'

const key = 'a-master-key-of-all-cells'
const env = { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey }

tests('two cells answer for all indexes, and the placement is changed by a command', async (t) => {
  t.timeout(240_000)
  const directory = await tempDir(t)
  const { origin, signal } = await startStoreProcess(t, 'gofakes3')
  const address = ['--placement', `s3://${bucket}/cells`]
  const placement = (command: string, ...args: readonly string[]) =>
    runCommand(['placement', command, ...args, ...address, '--endpoint', origin], '', env)
  const start = (cell: 'a' | 'b') =>
    startDaemon(
      t,
      join(directory, cell),
      () => [
        ...['--engine', testEngine, '--master-key', key],
        ...['--bucket', `s3://${bucket}/instances/${cell}`, '--bucket-endpoint', origin],
        ...['--bucket-interval', '50', '--experimental-allowed-ip-networks', '127.0.0.0/8'],
        ...['--cell', cell, ...address],
      ],
      env,
    )
  for (const cell of ['a', 'b'])
    t.is((await placement('set-cell', cell, '--url', 'http://127.0.0.1:9')).code, 0)
  t.is((await placement('set-cell', 'c', '--url', 'http://localhost', '--number', '1')).code, 2)
  const [a, b] = [await start('a'), await start('b')]
  for (const [cell, { port }] of Object.entries({ a, b }))
    t.is((await placement('set-cell', cell, '--url', `http://127.0.0.1:${port}`)).code, 0)
  const placed = await placement('set-index', 'books', 'b', '--key', key)
  t.deepEqual([placed.code, placed.lines], [0, ['the index books is in the cell b']], placed.errors.join())
  t.regex((await placement('show')).lines.join('\n'), /a +0 +home .*\nb +1 +- .*\nINDEX +CELL\nbooks +b/)

  const call = async ({ port }: TestDaemon, method: string, path: string, body?: object) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const sent = body === undefined ? {} : { body: JSON.stringify(body) }
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers, ...sent })
    return { status: answer.status, body: (await answer.json()) as Readonly<Record<string, unknown>> }
  }
  // A server reads the change after a moment.
  for (let uid = 0; uid % 64 !== 1; ) {
    const { body } = await call(a, 'POST', '/indexes/books/documents', [{ id: 1, title: 'Solaris' }])
    uid = Number(body.taskUid)
    if (uid % 64 !== 1) await call(a, 'DELETE', '/indexes/books')
  }
  await call(a, 'POST', '/indexes/films/documents', [{ id: 1, title: 'Stalker' }])
  for (const server of [a, b])
    for (const [uid, title] of [
      ['books', 'Solaris'],
      ['films', 'Stalker'],
    ] as const) {
      const found = () => call(server, 'GET', `/indexes/${uid}/search?q=${title}`)
      let { body } = await found()
      while (!JSON.stringify(body).includes('estimatedTotalHits":1')) body = (await found()).body
      t.regex(JSON.stringify(body), new RegExp(title))
    }
  const made = await call(b, 'POST', '/keys', { actions: ['search'], indexes: ['*'], expiresAt: null })
  t.is(made.status, 201, JSON.stringify(made.body))
  for (const { port } of [a, b]) {
    const found = await fetch(`http://127.0.0.1:${port}/multi-search`, {
      method: 'POST',
      headers: { authorization: `Bearer ${made.body.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ federation: {}, queries: [{ indexUid: 'books' }, { indexUid: 'films' }] }),
    })
    t.is(((await found.json()) as { hits: unknown[] }).hits.length, 2)
  }
  // The leader of the other cell takes the keys of home on its own, too.
  const keys = async (server: TestDaemon) => {
    const answer = await fetch(`http://127.0.0.1:${server.port}/indexes/books`, {
      headers: { authorization: `Bearer ${admin}`, 'x-siftd-cell': '1' },
    })
    return answer.status
  }
  const { results } = (await call(a, 'GET', '/keys')).body as { results: { name: string; key: string }[] }
  const admin = results.find(({ name }) => name === 'Default Admin API Key')?.key
  while ((await keys(b)) !== 200) await new Promise((resolve) => setTimeout(resolve, 200))
  const refused = await placement('set-index', 'films', 'b', '--key', key)
  t.deepEqual([refused.code, refused.errors.length], [1, 1])
  t.regex(refused.errors.join(), /the cell `a` has the index `films`/)
  t.regex((await placement('set-index', 'songs', 'b')).errors.join(), /refuses the key/)
  t.regex((await placement('set-index', 'songs', 'z', '--key', key)).errors.join(), /no cell `z`/)

  await b.stop()
  const away = await call(a, 'GET', '/indexes/books')
  t.deepEqual([away.status, away.body.code], [503, 'bucket_unavailable'])
  signal('SIGSTOP')
  t.is((await call(a, 'GET', '/indexes/films')).status, 200)
  signal('SIGCONT')
})
