import { readFile } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { silentOutput } from '../../../ts/cli/command/index.js'
import { migrate } from '../../../ts/cli/commands/migrate.js'
import { LaunchError } from '../../../ts/launch/index.js'
import { PeerError } from '../../../ts/transfer/index.js'
import { FILMS, masterKey, migration, startSource, startTarget } from '../../migrate/world.js'
import { runCommand, startCommand } from '../../support/command.js'
import { chosenEngines } from '../../support/engines.js'
import { testNeeding } from '../../support/test-needing.js'

// Rules:
// 1. A killed migration continues after the documents that the target has indexed.
// 2. An index that was recreated on the target is copied from its beginning.
// 3. A failure gives one line with a remedy, and the exit code. No line shows a key.

/** A proxy of a source. Holds back pages of films while `isHolding`. */
async function startGate(t: ExecutionContext, source: string) {
  const gate = { url: '', isHolding: true, pages: 0 }
  const held: ServerResponse[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', async () => {
      const isPage = request.url === '/indexes/films/documents/fetch'
      if (isPage) gate.pages += 1
      // The first pages have 100, 400 and 1,600 documents.
      if (isPage && gate.isHolding && gate.pages > 3) return void held.push(response)
      const { authorization = '', 'content-type': type } = request.headers
      const answer = await fetch(`${source}${request.url}`, {
        method: request.method ?? 'GET',
        headers: { authorization, ...(type !== undefined && { 'content-type': type }) },
        ...(chunks.length > 0 && { body: new Uint8Array(Buffer.concat(chunks)) }),
      })
      response.writeHead(answer.status, { 'content-type': 'application/json' })
      response.end(Buffer.from(await answer.arrayBuffer()))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  gate.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return gate
}

const documentsIn = async (state: string): Promise<number> => {
  const text = await readFile(state, 'utf8').catch(() => '{}')
  return (JSON.parse(text) as { films?: { documents: number } }).films?.documents ?? 0
}

for (const { name, needs } of chosenEngines) {
  testNeeding(needs)(`${name}: a killed migration continues where it stopped`, async (t) => {
    const [{ server }, target] = await Promise.all([startSource(t), startTarget(t, name)])
    const gate = await startGate(t, server.url)
    const args = [...migration(gate.url, target), '--index', 'films', '--skip', 'webhooks']
    const state = join(target.directory, 'state.json')
    const killed = startCommand(args)
    while ((await documentsIn(state)) < 2_100) await new Promise((resolve) => setTimeout(resolve, 20))
    killed.kill()
    t.is((await killed.outcome).code, null)

    gate.isHolding = false
    const pages = gate.pages
    const { code, lines } = await runCommand(args)
    t.is(code, 0, lines.join('\n'))
    t.true(lines.includes('index `films`: continues after 2,100 documents'), lines.join('\n'))
    t.true(gate.pages - pages < 5, `${gate.pages - pages} pages were read`)
    t.is((await target.call('GET', '/indexes/films/stats')).numberOfDocuments, FILMS + 1)
  })
}

test('a recreated index is copied from its beginning', async (t) => {
  const [{ server }, target] = await Promise.all([startSource(t), startTarget(t, 'fallback')])
  const gate = await startGate(t, server.url)
  const args = [...migration(gate.url, target), '--index', 'films', '--skip', 'webhooks']
  const killed = startCommand(args)
  while ((await documentsIn(join(target.directory, 'state.json'))) < 2_100)
    await new Promise((resolve) => setTimeout(resolve, 20))
  killed.kill()
  await killed.outcome
  await target.settle(t, 'DELETE', '/indexes/films', undefined)
  gate.isHolding = false
  const { code, lines } = await runCommand(args)
  t.is(code, 0, lines.join('\n'))
  t.false(lines.some((line) => line.includes('continues after')))
})

test('a failure gives one line', async (t) => {
  const [{ server }, target, open] = await Promise.all([
    startSource(t),
    startTarget(t, 'fallback'),
    startTarget(t, 'fallback', null),
  ])
  const embedders = { extra: { source: 'userProvided', dimensions: 2 } }
  await target.settle(t, 'PATCH', '/indexes/films/settings', { embedders })
  const to = ['--to', target.url, '--to-key', masterKey]
  const from = ['--from', server.url]
  const wrong = [...from, '--from-key', 'not-the-right-key-0123', ...to]
  const refused = /^siftd: --from .*GET \/indexes was refused: 403 invalid_api_key .*give the master key/
  const told = await runCommand(['migrate', ...wrong])
  t.is(told.code, 1)
  t.deepEqual(told.lines, [])
  t.is(told.errors.length, 1)
  t.regex(told.errors[0] ?? '', refused)

  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [[...from, ...to], /401 missing_authorization_header .*by --from-key-file or --from-key$/],
    [['--from', 'http://127.0.0.1:9', ...to], /`127\.0\.0\.1:9` cannot be reached: .*is it running/],
    [migration(server.url, open).slice(1), /has no master key.*--skip keys$/],
    [[...migration(server.url, target).slice(1), '--index', 'none'], /the source has no index `none`$/],
    [
      migration(server.url, target).slice(1),
      /^index `films`: copying documents 1 to 100 failed: vector_embedding_error .*start again/,
    ],
  ]
  for (const [args, line] of cases) {
    const error = await t.throwsAsync(migrate.run(args, silentOutput), {
      instanceOf: PeerError,
      message: line,
    })
    t.notRegex(error?.message ?? '', new RegExp(`${masterKey}|\n`))
  }
})

test('wrong usage gives one line and exit code 2', async (t) => {
  const from = ['--from', 'http://127.0.0.1:9']
  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [[], /--from is missing/],
    [['--from', 'ftp://old'], /--from is not a URL/],
    [[...from, '--from-key', 'a', '--from-key-file', 'b'], /exclude each other$/],
    [[...from, '--from-key-file', '/nowhere/key'], /cannot be read: ENOENT$/],
    [[...from, '--skip', 'tasks'], /--skip: unknown part `tasks`/],
    [
      [...from, '--form'],
      /^migrate: unknown option '--form', did you mean --from\? \(see siftd migrate --help\)$/,
    ],
    [[...from, 'more'], /^migrate: too many arguments. Expected 0 arguments but got 1/],
  ]
  for (const [args, line] of cases) {
    const error = await t.throwsAsync(migrate.run(args, silentOutput), {
      instanceOf: LaunchError,
      message: line,
    })
    t.is(error?.exitCode, 2)
  }
})
