import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'ava'
import { silentOutput } from '../../../ts/cli/command/index.js'
import { compare } from '../../../ts/cli/commands/compare.js'
import { LaunchError } from '../../../ts/launch/index.js'
import { PeerError } from '../../../ts/transfer/index.js'
import { tempDir } from '../../backup/archives.js'
import { runCommand } from '../../support/command.js'
import { startServer } from '../../support/server.js'

test('differences are printed and counted by kind', async (t) => {
  const [left, right] = await Promise.all([startServer(t), startServer(t)])
  const films = [
    { id: 1, title: 'Solaris', year: 1972 },
    { id: 2, title: 'Stalker', year: 1979 },
    { id: 3, title: 'Solaris again', year: 2002 },
  ]
  for (const [server, documents, sortable] of [
    [left, films, ['year']],
    [right, [...films, { id: 4, title: 'Alien', year: 1979 }], []],
  ] as const) {
    const settings = { filterableAttributes: ['year'], sortableAttributes: sortable }
    await server.settle(t, server.patch('/indexes/films/settings', settings))
    await server.settle(t, server.post('/indexes/films/documents?primaryKey=id', documents))
  }
  const reversed = { rankingRules: ['id:desc'] }
  await right.settle(t, right.patch('/indexes/films/settings', reversed))
  const searches = [
    { indexUid: 'films', q: 'stalkr' },
    { indexUid: 'films', q: 'solaris' },
    { indexUid: 'films', q: '', limit: 1 },
    { indexUid: 'films', sort: ['year:asc'] },
    { indexUid: 'films', q: 'stalker', facets: ['title'] },
    { indexUid: 'none', q: 'a' },
    { path: '/multi-search', body: { queries: [{ indexUid: 'films', q: 'alien', facets: ['year'] }] } },
    { method: 'GET', path: '/indexes/films/search?q=stalker' },
    { method: 'DELETE', path: '/indexes/films' },
    { method: 'GET', path: '/indexes/%E0%A4%A/search?q=stalker' },
  ]
  const file = join(await tempDir(t), 'searches.ndjson')
  await writeFile(file, `${searches.map((search) => JSON.stringify(search)).join('\n')}\n\n`)
  const sides = ['compare', '--left', left.url, '--right', right.url]

  const { code, lines } = await runCommand([...sides, file])
  t.is(code, 1)
  t.deepEqual(lines.slice(0, 2), [
    'line 2: /indexes/films/search {"q":"solaris"}',
    '  order: position 1: 1 and 3; 2 positions differ',
  ])
  t.deepEqual(lines.slice(-2), [
    '8 searches, 4 equal, 4 differ, 2 refused by both, skipped 2 requests that are no searches',
    'by kind: refusal 1, ids 2, order 1, total 2, facets 1',
  ])
  t.true(lines.includes('  refusal: answered and invalid_search_sort'), lines.join('\n'))
  t.true(lines.includes('  ids of query 0: only right 4'), lines.join('\n'))

  const scored = await runCommand([...sides, '--scores', '--limit', '1', file])
  t.deepEqual(scored.lines.slice(-1), ['by kind: scores 1'])
  const json = await runCommand([...sides, '--json', '--show', '1', '--limit', '3', file])
  t.deepEqual(
    json.lines.map((line) => JSON.parse(line)),
    [
      {
        line: 2,
        path: '/indexes/films/search',
        body: { q: 'solaris' },
        differences: [{ kind: 'order', query: null, left: ['1', '3'], right: ['3', '1'] }],
      },
      { asked: 3, equal: 1, differing: 2, refused: 0, skipped: 0, kinds: { ids: 1, order: 1, total: 1 } },
    ],
  )
  const same = await runCommand(
    ['compare', '--left', left.url, '--right', left.url, '-'],
    '{"indexUid":"films"}',
  )
  t.deepEqual([same.code, same.lines], [0, ['1 search, 1 equal, 0 differ']])

  const refused = await runCommand(
    ['compare', '--left', left.url, '--right', left.url, '-'],
    '{"indexUid":"none"}',
  )
  t.deepEqual([refused.code, refused.lines], [1, ['1 search, 1 equal, 0 differ, 1 refused by both']])
  t.regex(refused.errors[0] ?? '', /^no search was answered: /)

  const unreachable = ['--left', 'http://127.0.0.1:9', '--right', right.url, file]
  await t.throwsAsync(compare.run(unreachable, silentOutput), {
    instanceOf: PeerError,
    message: /is it running/,
  })
})

test('wrong usage gives one line and exit code 2', async (t) => {
  const directory = await tempDir(t)
  const sides = ['--left', 'http://127.0.0.1:9', '--right', 'http://127.0.0.1:9']
  for (const [args, text, line] of [
    [['--limit', 'some'], '', /--limit: invalid value `some`/],
    [['second'], '', /^compare: too many arguments/],
    [[], '{"q":"a"}', /^line 1 has neither `indexUid` nor `path`$/],
    [[], '\nnone', /^line 2 is not a JSON object$/],
  ] as const) {
    const file = join(directory, 'searches.ndjson')
    await writeFile(file, text)
    const run = compare.run([...sides, file, ...args], silentOutput)
    const error = await t.throwsAsync(run, { instanceOf: LaunchError, message: line })
    t.is(error?.exitCode, 2)
  }
  const missing = compare.run([...sides, '/nowhere/file'], silentOutput)
  await t.throwsAsync(missing, { instanceOf: LaunchError, message: /cannot be read: ENOENT$/ })
})
