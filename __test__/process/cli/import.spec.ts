/**
 * `siftd import`, run as a process. Rules:
 * 1. NDJSON, JSON and CSV, compressed or not, from files and the standard input, are imported unchanged.
 * 2. A refused document is reported with the reason, and all others are indexed.
 * 3. An interrupted or killed run continues after the indexed documents.
 * 4. A damaged input ends the import with one line.
 */
import { once } from 'node:events'
import { readdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import test from 'ava'
import { tempDir } from '../../backup/archives.js'
import { runCommand, startCommand } from '../../support/command.js'
import { otherThanWindows } from '../../support/requirements.js'
import { startServer, type TestServer } from '../../support/server.js'
import { testNeeding } from '../../support/test-needing.js'

const rows = [
  { id: 1, title: 'So "l" aris' },
  { id: 2, title: 'a,\nb' },
  { id: 3, title: 'Ünï' },
]
const ndjson = rows.map((row) => JSON.stringify(row)).join('\n')
const csv = ['id:number,title', '1,"So ""l"" aris"', '2,"a,\nb"', '3,Ünï'].join('\n')

interface Input {
  readonly name: string
  readonly content: string | Buffer
  readonly args?: readonly string[]
}

const inputs: readonly Input[] = [
  { name: 'a.ndjson', content: ndjson },
  { name: 'a.jsonl', content: `${ndjson.replaceAll('\n', '\r\n')}\r\n\r\n` },
  { name: 'a.json', content: JSON.stringify(rows, null, 2) },
  { name: 'lines.json', content: ndjson },
  { name: 'marked.json', content: `\uFEFF${JSON.stringify(rows, null, 2)}` },
  { name: 'marked.ndjson.gz', content: gzipSync(`\uFEFF${ndjson}`) },
  { name: 'marked.csv', content: `\uFEFF${csv}` },
  { name: 'a.csv', content: csv },
  { name: 'a.tsv', content: csv.replaceAll(',', '\t').replace('a\t', 'a,') },
  {
    name: 'semicolons.csv',
    content: csv.replaceAll(',', ';').replace('a;', 'a,'),
    args: ['--csv-delimiter', ';'],
  },
  { name: 'a.ndjson.gz', content: gzipSync(ndjson) },
  { name: 'a.csv.gz', content: gzipSync(csv) },
  { name: 'without-ending', content: gzipSync(JSON.stringify(rows)) },
  { name: 'text', content: csv, args: ['--format', 'csv'] },
]

const documentsOf = async (server: TestServer, index: string) =>
  (await server.get(`/indexes/${index}/documents?limit=1000`)).body.results

test('each format is imported unchanged, in one batch or one batch per document', async (t) => {
  t.timeout(300_000)
  const directory = await tempDir(t)
  const server = await startServer(t)
  for (const [at, { name, content, args = [] }] of inputs.entries()) {
    const file = join(directory, name)
    await writeFile(file, content)
    const index = `index-${at}`
    const batches = at % 2 === 0 ? ['--batch-bytes', '100'] : []
    const options = ['--index', index, '--primary-key', 'id', '--url', server.url, ...args, ...batches]
    const outcome = await runCommand(['import', file, ...options])
    t.is(outcome.code, 0, JSON.stringify(outcome))
    t.regex(outcome.lines[0] ?? '', new RegExp(`^3 documents indexed in ${index}, 0 refused, `))
    t.deepEqual(await documentsOf(server, index), rows, name)
  }
})

test('several files and the standard input are imported into one index, and --update merges documents', async (t) => {
  const directory = await tempDir(t)
  const server = await startServer(t)
  const file = join(directory, 'a.csv')
  await writeFile(file, 'id,year\n1,1972\n')
  const options = ['--index', 'films', '--url', server.url, '--update', '--json']
  const outcome = await runCommand(['import', '-', file, ...options], '{"id": "1", "title": "Solaris"}')
  const { index, indexed, refused } = JSON.parse(outcome.lines[0] ?? '')
  t.deepEqual([index, indexed, refused], ['films', 2, []])
  t.deepEqual(await documentsOf(server, 'films'), [{ id: '1', title: 'Solaris', year: '1972' }])
})

test('refused documents are reported with the reason, and all others are indexed', async (t) => {
  const server = await startServer(t)
  const lines = Array.from({ length: 40 }, (_, at) => ({ id: at + 1, n: at }) as Record<string, unknown>)
  lines[6] = { n: 6 }
  lines[30] = { id: 'a b' }
  // A newer version of a document after a refused document must win.
  lines[39] = { id: 1, n: 'newest' }
  const input = [...lines.map((line) => JSON.stringify(line)), '[1]'].join('\n')
  const options = [
    '--index',
    'films',
    '--primary-key',
    'id',
    '--url',
    server.url,
    '--batch-bytes',
    '150',
    '--json',
  ]
  const { code, lines: printed, errors } = await runCommand(['import', '-', ...options], input)
  t.is(code, 1)
  const { indexed, refused } = JSON.parse(printed[0] ?? '')
  t.is(indexed, 38)
  t.deepEqual(
    refused.map(({ document, code }: { document: number; code: string }) => [document, code]),
    [
      [7, 'missing_document_id'],
      [31, 'invalid_document_id'],
      [41, 'malformed_payload'],
    ],
  )
  t.regex(errors[0] ?? '', /^refused: document 7 of the standard input: missing_document_id /)
  const stored = await documentsOf(server, 'films')
  t.is(stored.length, 37)
  t.is(stored.find(({ id }) => (id as unknown) === 1)?.n, 'newest')
})

test('an import with only refused documents gives up', async (t) => {
  const server = await startServer(t)
  const input = Array.from({ length: 100 }, () => '{"title": "none"}').join('\n')
  const options = ['--index', 'films', '--primary-key', 'id', '--url', server.url]
  const { code, errors } = await runCommand(['import', '-', ...options], input)
  t.is(code, 1)
  t.regex(errors.at(-1) ?? '', /^siftd: gave up after 20 refused documents/)
})

for (const [way, needs] of [
  ['kill', []],
  ['interrupt', [otherThanWindows('a signal ends a process at once')]],
] as const)
  testNeeding(needs, test)(`an import ended by ${way} continues after the indexed documents`, async (t) => {
    const directory = await tempDir(t)
    let held = false
    const server = await startServer(t, { limits: { tasksMax: 1 } })
    const file = join(directory, 'films.ndjson')
    await writeFile(
      file,
      Array.from({ length: 600 }, (_, id) => JSON.stringify({ id, title: `film ${id}` })).join('\n'),
    )
    const state = join(directory, 'state.json')
    const options = ['--index', 'films', '--primary-key', 'id', '--url', server.url, '--state', state]
    const args = ['import', file, ...options, '--batch-bytes', '300']
    const running = startCommand(args)
    while (!held) {
      await new Promise((resolve) => setTimeout(resolve, 10))
      held = (await readdir(directory)).includes('state.json')
    }
    running[way]()
    const ended = await running.outcome
    t.is(ended.code, way === 'kill' ? null : 1)
    if (way === 'interrupt')
      t.regex(ended.errors.at(-1) ?? '', /^siftd: interrupted after \d+ documents; the same/)
    const again = await runCommand(args)
    t.is(again.code, 0, JSON.stringify(again))
    const [, skipped] = /^continues after (\d+) documents of films.ndjson$/.exec(again.errors[0] ?? '') ?? []
    const [, indexed] = /^(\d+) documents indexed/.exec(again.lines[0] ?? '') ?? []
    t.true(Number(skipped) > 0)
    t.is(Number(skipped) + Number(indexed), 600)
    t.is((await server.get('/indexes/films/documents?limit=1')).body.total, 600)
    t.false(
      (await readdir(directory)).includes('state.json'),
      'the state file is deleted when everything is imported',
    )
  })

const damaged: readonly (readonly [name: string, content: string | Buffer, error: RegExp])[] = [
  [
    'a.json',
    '[{"id": 1}, {"id": 2}',
    /^siftd: a.json is damaged: the text ends too early at line 1 column 22$/,
  ],
  [
    'a.json',
    '[{"id": 1} {"id": 2}]',
    /^siftd: a.json is damaged: unexpected character `\{` at line 1 column 12$/,
  ],
  ['a.ndjson.gz', gzipSync(ndjson).subarray(0, 30), /^siftd: a.ndjson.gz cannot be read to its end: /],
]

test('a damaged input ends the import with one line', async (t) => {
  const directory = await tempDir(t)
  const server = await startServer(t)
  for (const [name, content, error] of damaged) {
    const file = join(directory, name)
    await writeFile(file, content)
    const state = join(directory, 'state.json')
    const options = ['--index', 'films', '--primary-key', 'id', '--url', server.url, '--state', state]
    const { code, errors } = await runCommand(['import', file, ...options])
    t.is(code, 1)
    t.regex(errors.at(-1) ?? '', error)
  }
})

test('a wrong address is reported at once', async (t) => {
  const wrong = ['import', '-', '--index', 'films', '--url', 'http://127.0.0.1:9']
  const { code, errors } = await runCommand(wrong, ndjson)
  t.is(code, 1)
  t.regex(errors[0] ?? '', /is it running/)
})

test('a file of the progress that cannot be written is named with the option', async (t) => {
  const directory = await tempDir(t)
  const server = await startServer(t)
  const file = join(directory, 'films.ndjson')
  await writeFile(file, ndjson)
  const state = join(directory, 'missing', 'state.json')
  const options = ['--index', 'films', '--primary-key', 'id', '--url', server.url]
  const { code, errors } = await runCommand(['import', file, ...options, '--state', state])
  t.is(code, 1)
  t.deepEqual(errors, [
    `siftd: the progress in ${state} cannot be written: ENOENT; --state names another file`,
  ])
})

test('progress at one path of a proxy does not count at another', async (t) => {
  const [directory, server] = [await tempDir(t), await startServer(t, { limits: { tasksMax: 1 } })]
  const file = join(directory, 'films.ndjson')
  const documents = [1, 2].map((id) => ({ id, title: 'a'.repeat(90) }))
  await writeFile(file, documents.map((row) => JSON.stringify(row)).join('\n'))
  let uploads = 0
  const proxy = createServer(async (request, response) => {
    const [, side, path] = /^\/(a|b)(\/.*)$/.exec(request.url ?? '') ?? []
    const body = Buffer.concat(await request.toArray())
    const isUpload = request.method === 'POST'
    if (isUpload && side === 'b') uploads += 1
    // The first server refuses everything after the first document.
    if (isUpload && side === 'a' && body.includes('"id":2')) return response.writeHead(403).end()
    const { 'content-type': type = '' } = request.headers
    const answer = await fetch(server.url + path, {
      method: request.method!,
      headers: { 'content-type': type },
      ...(isUpload && { body }),
    })
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text())
  }).listen(0, '127.0.0.1')
  t.teardown(() => proxy.close())
  await once(proxy, 'listening')
  const { port } = proxy.address() as AddressInfo
  const imported = (side: string) => {
    const options = ['--index', 'films', '--primary-key', 'id', '--batch-bytes', '100']
    const url = ['--url', `http://127.0.0.1:${port}/${side}`]
    return startCommand(['import', file, ...options, ...url], '', {}, directory).outcome
  }
  t.is((await imported('a')).code, 1)
  t.is((await readdir(directory)).length, 2, 'the progress was stored')
  const { code, errors } = await imported('b')
  t.deepEqual([code, errors, uploads], [0, [], 2])
})
