/**
 * `siftd judge`, run as a process. Rules:
 * 1. Figures equal those of the metrics, and settings are judged without a change to the index.
 * 2. The temporary copy is removed at the end, also after an interruption.
 * 3. A wrong file or wrong usage ends with 2 before anything is called.
 */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { tempDir } from '../../backup/archives.js'
import { runCommand, startCommand } from '../../support/command.js'
import { startServer, type TestServer, testEngine } from '../../support/server.js'

const masterKey = 'harbour-lantern-4471-xyz'

const films = [
  { id: 1, title: 'The Lighthouse', text: 'two keepers and a storm' },
  { id: 2, title: 'Storm over the harbour', text: 'a film about a keeper of boats' },
  { id: 3, title: 'Groundhog days', text: 'the same day again, the same day again' },
  { id: 4, title: 'A day at the races', text: 'horses' },
]

/** The second query finds its document only if no word is required. The id 99 does not exist. */
const judgments = `query,id,grade,comment
storm,2,2,
storm,1,2,
man stuck in the same day,3,3,"needs ""any"""
man stuck in the same day,4,0,
storm,99,2,gone
horses,4,1,
boats,2,1,
`

interface World {
  readonly server: TestServer
  readonly folder: string
  /** Arguments of every command, with the file of judgments. */
  readonly args: readonly string[]
  /** Puts temporary copies into a folder of the test. */
  readonly env: NodeJS.ProcessEnv
  readonly copies: () => Promise<readonly string[]>
}

async function world(t: ExecutionContext): Promise<World> {
  t.timeout(300_000)
  const server = await startServer(t, { masterKey })
  await server.settle(t, server.post('/indexes/films/documents?primaryKey=id', films))
  const folder = await tempDir(t)
  const file = join(folder, 'judgments.csv')
  const temporary = await tempDir(t)
  await writeFile(file, judgments)
  return {
    server,
    folder,
    args: ['judge', file, '--index', 'films', '--url', server.url],
    env: { SVC_KEY: masterKey, TMPDIR: temporary, SVC_ENGINE: testEngine },
    copies: async () => (await readdir(temporary)).filter((name) => name.startsWith('siftd-judge-')),
  }
}

test('figures of an index name unknown ids, the worst query and its missing document', async (t) => {
  const { args, env } = await world(t)
  const plain = await runCommand(args, '', env)
  t.is(plain.code, 0, plain.errors.join('\n'))
  t.deepEqual(plain.errors, [
    '1 judged document not in `films`: `99` (line 6); their judgments are ignored',
    '4 queries, 6 judgments',
  ])
  // Three of four queries are perfect.
  t.deepEqual(plain.lines.slice(0, 4), [
    '       nDCG@10  recall@50  no hit',
    'films  0.7500   0.7500     1',
    'worst',
    '  0.000  man stuck in the same day',
  ])
  t.regex(plain.lines[4] ?? '', /^ {4}3 \(grade 3\) is not a hit: it does not contain man/)

  const asJson = await runCommand([...args, '--json', '--show', '0'], '', env)
  t.deepEqual(
    asJson.lines.map((line) => JSON.parse(line) as unknown),
    [
      { query: 'storm', ndcg: [1], recall: [1] },
      { query: 'man stuck in the same day', ndcg: [0], recall: [0] },
      { query: 'horses', ndcg: [1], recall: [1] },
      { query: 'boats', ndcg: [1], recall: [1] },
      { queries: 4, results: [{ name: 'films', ndcg: 0.75, recall: 0.75, withoutHit: 1 }] },
    ],
  )
  const strict = await runCommand([...args, '--strict'], '', env)
  t.is(strict.code, 1)
  t.regex(strict.errors.join('\n'), /judge: 1 judged document not in `films`: `99` \(line 6\)$/)
})

test('two settings, or search parameters, are compared without a change to the index', async (t) => {
  const { server, folder, args, env, copies } = await world(t)
  const before = (await server.get('/indexes/films/settings')).body
  const profile = join(folder, 'profile.json')
  await writeFile(profile, await readFile('docs/relevance-profile.json'))
  const one = await runCommand([...args, '--settings', profile], '', env)
  t.is(one.code, 0, one.errors.join('\n'))
  t.deepEqual(one.lines.slice(0, 6), [
    '              nDCG@10  recall@50  no hit',
    'films         0.7500   0.7500     1',
    'profile.json  1.0000   1.0000     0',
    '1 better, 0 worse, 3 equal',
    'got better',
    '  0.000 → 1.000  man stuck in the same day',
  ])
  const other = join(folder, 'other.json')
  await writeFile(other, '{"searchableAttributes": ["title"]}')
  const two = await runCommand([...args, '--settings', profile, '--settings', other], '', env)
  t.is(two.code, 1, 'the second settings are worse')
  t.true(two.lines.includes('0 better, 4 worse, 0 equal'), two.lines.join('\n'))
  const bodies = ['--body', '{"matchingStrategy": "all"}', '--body', '{"matchingStrategy": "any"}']
  const live = await runCommand([...args, ...bodies, '--json'], '', env)
  const last = JSON.parse(live.lines.at(-1)!) as { readonly better: number; readonly worse: number }
  t.deepEqual([live.code, last.better, last.worse], [0, 1, 0])

  t.deepEqual((await server.get('/indexes/films/settings')).body, before)
  t.is((await server.get('/indexes')).body.total, 1)
  t.deepEqual(await copies(), [])
})

test('tuning prints a body for the settings, and figures on unseen queries', async (t) => {
  const { args, env, copies } = await world(t)
  const tuned = await runCommand([...args, '--tune', '--folds', '2', '--tries', '20'], '', env)
  t.regex(tuned.errors.join('\n'), /^queries it did not see {2}0\.7500 {2}\d\.\d{4}$/m)
  const again = await runCommand([...args, '--tune', '--folds', '2', '--tries', '20', '--json'], '', env)
  const { settings, seen, unseen, isBetter } = JSON.parse(again.lines[0]!) as {
    readonly settings: object
    readonly seen: { readonly after: number }
    readonly unseen: { readonly before: number; readonly after: number }
    readonly isBetter: boolean
  }
  t.is(seen.after, 1)
  t.deepEqual([unseen.before, isBetter], [0.75, unseen.after > 0.75])
  t.like(settings, { matchingStrategy: 'any', rankingRules: ['relevance', 'sort'] })
  if (isBetter) t.deepEqual([tuned.code, JSON.parse(tuned.lines.join(''))], [0, settings])
  else t.deepEqual([tuned.code, tuned.lines], [1, []])
  t.deepEqual(await copies(), [])
})

test('an interruption removes the copy', async (t) => {
  const { args, env, copies } = await world(t)
  const command = startCommand([...args, '--tune', '--tries', '100000', '--folds', '2'], '', env)
  while ((await copies()).length === 0) await new Promise((resolve) => setTimeout(resolve, 10))
  command.interrupt()
  const { code, errors, lines } = await command.outcome
  t.deepEqual([code, lines], [1, []])
  t.is(errors.at(-1), 'siftd: judge: interrupted')
  t.deepEqual(await copies(), [])
})

for (const [name, content, more, message] of [
  ['negative grades', 'query,id,grade\na,1,-1', [], /line 2: grade `-1`/],
  ['no judgments', '', [], /is empty; its first line must be `query,id,grade`/],
  ['three settings', judgments, ['a', 'b', 'c'].flatMap((file) => ['--settings', file]), /at most twice/],
  ['a missing file of settings', judgments, ['--settings', '/nowhere'], /nowhere cannot be read: ENOENT/],
  ['settings to tune', judgments, ['--tune', '--settings', 'a'], /--tune excludes --settings/],
  ['a limit', judgments, ['--body', '{"limit": 3}'], /--body: judge sets `limit` itself/],
  ['folds without tuning', judgments, ['--folds', '3'], /--folds needs --tune/],
] as const)
  test(`${name} end with 2 before anything is called`, async (t) => {
    const args = ['judge', '-', '--index', 'films', '--url', 'http://127.0.0.1:9', ...more]
    const { code, errors, lines } = await runCommand(args, content)
    t.deepEqual([code, lines], [2, []], errors.join('\n'))
    t.regex(errors.join('\n'), message)
  })
