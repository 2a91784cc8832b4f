/**
 * Commands that call a server or read a directory at rest, run as processes. Rules:
 * 1. Results go to the standard output, everything else to the standard error.
 * 2. The exit code is 0 for success, 1 for a finding or a refusal, 2 for wrong usage.
 * 3. Reading commands print the same for a directory at rest as for its server.
 */
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import test from 'ava'
import { silentOutput } from '../../../ts/cli/command/index.js'
import { commandNamed } from '../../../ts/cli/program.js'
import { LaunchError } from '../../../ts/launch/index.js'
import { tempDir } from '../../backup/archives.js'
import { type Outcome, runCommand } from '../../support/command.js'
import { startDaemon } from '../../support/daemon.js'
import { chosenEngines } from '../../support/engines.js'
import { program } from '../../support/program.js'
import type { Requirement } from '../../support/requirements.js'
import { startServer } from '../../support/server.js'
import { testNeeding } from '../../support/test-needing.js'

const masterKey = 'harbour-lantern-4471-xyz'

const films = [
  { id: 1, title: 'Solaris', genre: 'drama' },
  { id: 2, title: 'Alien', genre: 'horror' },
  { id: 3, title: 'Stalker', genre: 'drama' },
]
const filmLines = films.map((film) => JSON.stringify(film))

/** A command and its expected output. A pattern matches one line. */
interface Case {
  readonly args: readonly string[]
  readonly input?: string
  /** Default: 0. */
  readonly code?: 1 | 2
  readonly lines?: readonly (string | RegExp)[]
  readonly errors?: readonly (string | RegExp)[]
}

/** Run in this order on a new server. FILE is replaced by a file of settings. */
const cases: readonly Case[] = [
  { args: ['indexes', 'list'], lines: ['INDEX  PRIMARY KEY  UPDATED'] },
  {
    args: ['indexes', 'create', 'films', '--primary-key', 'id'],
    lines: [/^task 0 succeeded: indexCreation of films/],
  },
  { args: ['indexes', 'create', 'films'], code: 1, lines: [/failed: .*index_already_exists/] },
  {
    args: ['settings', 'diff', 'films', 'FILE'],
    code: 1,
    lines: ['filterableAttributes', '- []', '+ ["genre"]'],
  },
  { args: ['settings', 'apply', 'films', 'FILE'], lines: [/^task \d+ succeeded: settingsUpdate of films/] },
  { args: ['settings', 'diff', 'films', 'FILE'] },
  { args: ['settings', 'apply', 'films', 'FILE'], errors: [/^nothing to change/] },
  {
    args: ['settings', 'diff', 'films', '-', '--json'],
    input: '{"stopWords": ["the"], "typoTolerance": {"enabled": true}, "synonyms": null}',
    code: 1,
    lines: ['{"setting":"stopWords","now":[],"wanted":["the"]}'],
  },
  {
    args: ['settings', 'apply', 'films', '-'],
    input: '{"stopWord": []}',
    code: 2,
    errors: [/did you mean `stopWords`/],
  },
  {
    args: ['settings', 'apply', 'films', '-'],
    input: '[]',
    code: 2,
    errors: [/^siftd: -: expected a JSON object$/],
  },
  {
    args: ['import', '-', '--index', 'films'],
    input: filmLines.join('\n'),
    lines: [/^3 documents indexed in films, 0 refused, /],
  },
  { args: ['search', 'films', 'solaris'], lines: [filmLines[0]!], errors: [/^1 of about 1 hit, \d+ ms$/] },
  {
    args: ['explain', 'films', '1', 'solrais'],
    lines: [
      '1 is hit 1, found by words',
      /^score 0\.\d+$/,
      /^ {2}words +matchingWords 1, maxMatchingWords 1, score 1$/,
      /^ {2}typo +typoCount 1, maxTypoCount 1, score 0\.5$/,
      /^ {2}proximity /,
      /^ {2}attributeRank /,
      /^ {2}wordPosition /,
      /^ {2}exactness /,
      'solrais',
      /^ {2}solaris +typo, 1 typo +title:0$/,
    ],
  },
  {
    args: ['explain', 'films', '1', 'stalker', '--filter', 'genre = drama AND NOT genre = drama'],
    code: 1,
    lines: [
      '1 is not a hit',
      '  it does not pass the filter:',
      '    fails  AND',
      '      passes genre = drama',
      '      fails  NOT',
      '        passes genre = drama',
      '  it does not contain stalker',
      'stalker (missing)',
      '  and 1 more in other documents',
    ],
  },
  { args: ['explain', 'films', '9'], code: 1, errors: [/document_not_found/] },
  {
    args: ['search', 'films', '--facets', 'genre', '--limit', '0'],
    errors: ['genre: drama 2', 'genre: horror 1', /^0 of about 3 hits/],
  },
  {
    args: ['search', 'films', '--filter', 'genre = drama', '--fields', 'id', '--json'],
    lines: [/^\{"hits":\[\{"id":1\},\{"id":3\}\],"query":"",/],
  },
  {
    args: ['search', 'films', '--body', '{"limit": 1, "offset": 1}'],
    lines: [filmLines[1]!],
    errors: [/^1 of about 3/],
  },
  { args: ['search', 'films', '--body', '3'], code: 2, errors: [/^siftd: --body: expected a JSON object$/] },
  { args: ['search', 'films', '--filter', 'genre ='], code: 1, errors: [/400 invalid_search_filter/] },
  { args: ['search', 'none'], code: 1, errors: [/404 index_not_found/] },
  { args: ['documents', 'get', 'films', '2'], lines: [filmLines[1]!] },
  {
    args: ['documents', 'get', 'films', '2', '9'],
    code: 1,
    lines: [filmLines[1]!],
    errors: [/^1 of these ids/],
  },
  {
    args: ['documents', 'get', 'films', '--filter', 'genre = horror', '--fields', 'title'],
    lines: ['{"title":"Alien"}'],
  },
  { args: ['documents', 'export', 'films'], lines: filmLines, errors: ['3 documents'] },
  { args: ['documents', 'delete', 'films'], code: 2, errors: [/expected ids, --filter or --all/] },
  {
    args: ['documents', 'delete', 'films', '2'],
    lines: [/succeeded: documentDeletion .*deletedDocuments 1/],
  },
  { args: ['documents', 'delete', 'films', '--filter', 'genre = horror'], lines: [/deletedDocuments 0/] },
  { args: ['indexes', 'stats', 'films'], lines: [/^INDEX/, /^films {2}2 {10}3 /] },
  { args: ['tasks', 'list', '--status', 'failed'], lines: [/^TASK/, /index_already_exists$/] },
  { args: ['tasks', 'list', '--limit', '1', '--json'], lines: [/^\{"uid":\d+,/] },
  { args: ['tasks', 'watch', '0'], lines: [/^task 0 succeeded/] },
  { args: ['tasks', 'watch', '1'], code: 1, lines: [/^task 1 failed/] },
  { args: ['tasks', 'watch', 'all'], code: 2, errors: [/is not the uid of a task/] },
  { args: ['tasks', 'cancel'], code: 2, errors: [/expected uids, --index/] },
  { args: ['tasks', 'cancel', '--all'], lines: [/succeeded: taskCancelation/] },
  {
    args: ['keys', 'create', '--actions', 'search', '--indexes', 'films', '--name', 'page'],
    lines: [/^[0-9a-f]{64}$/],
  },
  { args: ['keys', 'delete', 'none'], code: 1, errors: [/404 api_key_not_found/] },
  { args: ['dump'], lines: [/^task \d+ succeeded: dumpCreation/] },
  { args: ['snapshot', '--json'], lines: [/"type":"snapshotCreation"/] },
  {
    args: ['indexes', 'delete', 'none', '--no-wait', '--json'],
    lines: [/^\{"taskUid":\d+,"status":"enqueued"\}$/],
  },
]

/** Commands that print the same for a directory at rest. */
const readings: readonly (readonly string[])[] = [
  ['search', 'films', 'stalker'],
  ['documents', 'export', 'films'],
  ['settings', 'get', 'films', '--json'],
  ['indexes', 'list', '--json'],
  ['indexes', 'stats', '--json'],
]

for (const { name, needs } of chosenEngines) {
  testNeeding(needs)(
    `${name}: commands print results to standard output, findings and refusals to standard error`,
    async (t) => {
      t.timeout(600_000)
      const directory = await tempDir(t)
      const data = join(directory, 'data')
      const [dumps, snapshots] = ['dumps', 'snapshots'].map((part) => join(directory, part)) as [
        string,
        string,
      ]
      const options = [
        '--engine',
        name,
        '--master-key',
        masterKey,
        '--dump-dir',
        dumps,
        '--snapshot-dir',
        snapshots,
      ]
      const daemon = await startDaemon(t, data, options)
      const file = join(directory, 'settings.json')
      await writeFile(file, '{"filterableAttributes": ["genre"], "stopWords": null}')
      const keyFile = join(directory, 'key')
      await writeFile(keyFile, `${masterKey}\n`)
      const env = { SVC_URL: `http://127.0.0.1:${daemon.port}`, SVC_KEY_FILE: keyFile }
      for (const one of cases) {
        const args = one.args.map((arg) => (arg === 'FILE' ? file : arg))
        const outcome = await runCommand(args, one.input, env)
        const shown = `${args.join(' ')}: ${JSON.stringify(outcome)}`
        t.is(outcome.code, one.code ?? 0, shown)
        t.true(matches(outcome.lines, one.lines ?? []), shown)
        t.true(matches(outcome.errors, one.errors ?? []), shown)
        t.false(shown.includes(masterKey), 'no key is printed')
      }
      const listed = await runCommand(['keys', 'list'], '', env)
      t.true(
        listed.lines.some((line) => /^[0-9a-f]{64} +page +search +films +never$/.test(line)),
        listed.lines.join('\n'),
      )
      const refused = await runCommand(['keys', 'list', '--key', 'wrong'], '', env)
      t.deepEqual([refused.code, refused.lines], [1, []])
      t.regex(refused.errors[0] ?? '', /403 invalid_api_key.*the key of --url is wrong/)

      const served = []
      for (const args of readings) served.push(comparable(await runCommand(args, '', env)))
      await daemon.stop()
      const gone = await runCommand(['indexes', 'list'], '', env)
      t.is(gone.code, 1)
      t.regex(gone.errors[0] ?? '', /ECONNREFUSED; is it running/)
      const atRest = []
      for (const args of readings) atRest.push(comparable(await runCommand([...args, '--db-path', data])))
      t.deepEqual(atRest, served)
    },
  )
}

const matches = (found: readonly string[], expected: readonly (string | RegExp)[]): boolean =>
  found.length === expected.length &&
  expected.every((one, at) => (typeof one === 'string' ? one === found[at] : one.test(found[at]!)))

/** An outcome without the duration of searches. */
const comparable = ({ code, lines, errors }: Outcome): object => ({
  code,
  lines,
  errors: errors.map((line) => line.replace(/\d+ ms$/, '')),
})

const usage: readonly (readonly [args: readonly string[], error: RegExp])[] = [
  [['serch', 'films'], /^unknown command `serch`, did you mean `search`\? \(see siftd --help\)$/],
  [['quit'], /^unknown command `quit` \(see siftd --help\)$/],
  [['documents'], /^documents: expected one of `get`, `export`, `delete`/],
  [['documents', 'exprt'], /unknown command 'exprt', did you mean export\? \(see siftd documents --help\)$/],
  [['search'], /missing required argument 'index' \(see siftd search --help\)$/],
  [['search', 'films', '--limt', '3'], /unknown option '--limt', did you mean --limit\?/],
  [['keys', 'list', "--kee=a'b"], /^keys list: unknown option '--kee'( \(see|, did)/],
  [['search', 'films', '--limit', 'many'], /^--limit: invalid value `many`, expected a number$/],
  [['search', 'films', '--url', 'films'], /^--url is not a URL of http or https/],
  [['search', 'films', '--key', 'a', '--key-file', 'b'], /^--key and --key-file exclude each other$/],
  [['documents', 'delete', '', '--all'], /^`` is not the uid of an index$/],
  [['settings', 'get', '.'], /^`\.` is not the uid of an index$/],
  [['search', 'films', '--db-path', '/x', '--url', 'http://a'], /^--db-path excludes --url/],
  [['search', 'films', '--db-path', '/nowhere'], /^--db-path: \/nowhere holds no data/],
  [['import', '/nowhere/films.json', '--index', 'films'], /^\/nowhere\/films.json cannot be read: ENOENT$/],
  [['reindex'], /^reindex: name indexes, or give --all, but not both$/],
  [['reindex', 'films', '--all'], /^reindex: name indexes, or give --all, but not both$/],
  [
    ['import', 'films.csv', '--index', 'films', '--csv-delimiter', '\\t'],
    /^--csv-delimiter: invalid value `\\t`, expected one ASCII character$/,
  ],
  [['import', 'films.json'], /required option '--index <uid>' not specified/],
  [['keys', 'create', '--actions', 'search'], /required option '--indexes <list>' not specified/],
]

test('wrong usage gives one line with a remedy and exit code 2', async (t) => {
  for (const [args, message] of usage) {
    const run = async () => (await commandNamed(args[0])!.load()).run(args.slice(1), silentOutput)
    const error = await t.throwsAsync(run, { instanceOf: LaunchError, message }, args.join(' '))
    t.is(error?.exitCode, 2, args.join(' '))
    t.notRegex(error?.message ?? '', /\n/)
  }
})

const fullDevice: Requirement = {
  missing: existsSync('/dev/full') ? null : 'no /dev/full',
  isDemanded: false,
}

testNeeding([fullDevice], test)('results that cannot be written give exit code 1', (t) => {
  const full = openSync('/dev/full', 'w')
  t.teardown(() => closeSync(full))
  const { status, stderr } = spawnSync(process.execPath, [program, 'completion', 'bash'], {
    stdio: ['ignore', full, 'pipe'],
    encoding: 'utf8',
  })
  t.deepEqual([status, stderr], [1, 'siftd: the standard output cannot be written: ENOSPC\n'])
})

testNeeding([fullDevice], test)('a file of an export that cannot be written is named', async (t) => {
  const server = await startServer(t)
  await server.settle(t, server.post('/indexes/films/documents', films))
  const args = ['documents', 'export', 'films', '--url', server.url, '--output', '/dev/full']
  const { code, errors } = await runCommand(args)
  t.deepEqual([code, errors], [1, ['siftd: --output: /dev/full cannot be written: ENOSPC']])
})

test('a watch without uids waits for all pages of tasks', async (t) => {
  const tasks = [3, 7, 8].map((uid) => ({
    uid,
    status: 'succeeded',
    type: 'snapshotCreation',
    indexUid: null,
  }))
  const server = createServer(({ url }, response) => {
    const { pathname, searchParams } = new URL(url!, 'http://server')
    const left = tasks.filter(({ uid }) => uid >= Number(searchParams.get('from')))
    const page = left.slice(0, 2).map((task) => ({ ...task, enqueuedAt: '2026-01-01T00:00:00Z' }))
    const list = { results: page, total: tasks.length, next: left[2]?.uid ?? null }
    const one = tasks.find(({ uid }) => pathname === `/tasks/${uid}`)
    response.setHeader('Content-Type', 'application/json').end(JSON.stringify(one ?? list))
  }).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const { code, lines } = await runCommand(['tasks', 'watch', '--url', `http://127.0.0.1:${port}`])
  t.deepEqual([code, lines], [0, tasks.map(({ uid, status, type }) => `task ${uid} ${status}: ${type}`)])
})
