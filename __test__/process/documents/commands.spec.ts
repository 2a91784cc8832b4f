/** Runs every command in README.md, docs/*.md and docs/guides/*.md and compares its result with the page. */
import { spawnSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { allPages, commandPages, parsePage } from '../../documents/markdown.js'
import { ENGINE, languages, type Presumed, type Reading, readAlong } from '../../documents/reader.js'
import { startDaemon } from '../../support/daemon.js'
import { isCi, otherThanWindows, type Requirement } from '../../support/requirements.js'
import { testNeeding } from '../../support/test-needing.js'
import { startTypesense, TYPESENSE_KEY } from '../../support/typesense.js'

/** Tools that the pages use in addition to `siftd`. */
const tools: Requirement = {
  missing: ['bash', 'curl'].some((tool) => spawnSync(tool, ['--version']).error !== undefined)
    ? 'bash or curl is missing'
    : null,
  isDemanded: isCi,
}
const testWithTools = testNeeding([otherThanWindows('the pages use a POSIX shell'), tools])

/** Starts a server with the films of the README. */
const films = `siftd --no-analytics
siftd import samples/films.ndjson --index films --primary-key id
curl -s -X PATCH 'http://localhost:7700/indexes/films/settings' -H 'Content-Type: application/json' \\
  -d '{"filterableAttributes": ["genres", "year"], "sortableAttributes": ["rating"]}'`

const KEY = 'a-key-of-at-least-16-bytes'

/** Runs of `siftd migrate` need another instance with a key and films, and a new one. */
const instances = async (t: ExecutionContext): Promise<Presumed> => {
  const [from, to] = await Promise.all([daemon(t), daemon(t)])
  const files = {
    'old.key': KEY,
    'new.key': KEY,
    'queries.ndjson': '{"indexUid": "films", "q": "lihgthouse"}',
  }
  const before = `siftd import samples/films.ndjson --index films --url http://${from} --key-file old.key`
  return { addresses: { 'old:7700': from, 'new:7700': to }, files, before }
}

/** A Typesense with a collection, exported files of Algolia, and a new instance. */
const otherEngines = async (t: ExecutionContext): Promise<Presumed> => {
  const schema = { name: 'films', fields: [{ name: 'title', type: 'string' }] }
  const typesense = await startTypesense(t, [{ schema, documents: [{ id: '1', title: 'Solaris' }] }])
  const files = {
    'new.key': KEY,
    'typesense.key': TYPESENSE_KEY,
    'films.ndjson': '{"objectID": "1", "title": "Solaris"}',
    'settings.json': '{"searchableAttributes": ["title"]}',
    'synonyms.ndjson': '{"objectID": "s", "type": "synonym", "synonyms": ["film", "movie"]}',
    'rules.ndjson': '{"objectID": "r", "consequence": {"promote": [{"objectID": "1", "position": 0}]}}',
  }
  const addresses = { 'old:8108': new URL(typesense).host, 'new:7700': await daemon(t) }
  return { addresses, files }
}

/** Preconditions of pages. All other pages begin with an empty folder. */
const presumptions: Readonly<Record<string, (t: ExecutionContext) => Promise<Presumed>>> = {
  'docs/explain.md': async () => ({ before: films }),
  'docs/cli.md': async () => ({ before: 'siftd --no-analytics' }),
  'docs/languages.md': async () => ({ before: films }),
  'docs/languages-ja-ko.md': async () => ({ before: 'siftd --no-analytics' }),
  'docs/operate.md': async () => ({ before: films }),
  'docs/relevance.md': async () => ({ before: films }),
  'docs/search-parameters.md': async () => ({ before: films }),
  'docs/migrate.md': instances,
  'docs/guides/from-meilisearch.md': instances,
  'docs/guides/from-algolia-and-typesense.md': otherEngines,
}

/** Starts another server, with a master key. @returns its address */
async function daemon(t: ExecutionContext): Promise<string> {
  const data = await mkdtemp(join(tmpdir(), 'siftd-documents-'))
  const { port, kill } = await startDaemon(t, data, [
    '--engine',
    ENGINE,
    '--master-key',
    KEY,
    '--no-analytics',
  ])
  t.teardown(async () => {
    await kill()
    await rm(data, { recursive: true, force: true })
  })
  return `127.0.0.1:${port}`
}

const nothing = async (): Promise<Presumed> => ({})

for (const page of await commandPages()) {
  if (page.blocks.length === 0) continue
  testWithTools(`the commands in ${page.path} give the results that it shows`, async (t) => {
    const presumed = await (presumptions[page.path] ?? nothing)(t)
    report(t, await readAlong(t, page, presumed))
  })
}

function report(t: ExecutionContext, { faults, tried, notRun }: Reading): void {
  t.log(`${tried} run, ${notRun.length} skipped`)
  for (const one of notRun) t.log(`skipped: ${one}`)
  t.deepEqual(faults, [])
}

test('every code block of a page has a language that the test knows', async (t) => {
  const pages = await allPages()
  const unknown = pages.flatMap(({ path, blocks }) =>
    blocks.filter(({ language }) => !languages.includes(language)).map(({ line }) => `${path}:${line}`),
  )
  t.deepEqual(unknown, [])
})

/** Pages with one mistake each, and the expected message. */
const mistaken: readonly (readonly [string, string])[] = [
  ['```sh\ncurl -fs http://localhost:7700/indexes/ghost\n```', 'ends with 22'],
  ['```sh\ncurl -s http://localhost:7700/indexes/ghost\n```', 'index_not_found'],
  ['```sh\nsiftd serch films\n```', 'unknown command `serch`'],
  ['```sh\nsiftd import samples/film.ndjson --index films\n```', 'film.ndjson cannot be read'],
  [
    "```sh\ncurl -s -X POST localhost:7700/indexes/a/documents -H 'content-type: application/json' -d '[{}]'\n```",
    'index_primary_key_no_candidate_found',
  ],
  [
    '```sh\ncurl -s localhost:7700/health\n```\n\n```json\n{"status": "ill"}\n```',
    '`status` is "available", not "ill"',
  ],
  ['```sh\ncurl -s localhost:7700/health\n```\n\n```json\n{"state": ""}\n```', '`state` is missing'],
  ['```sh\nsiftd search films lihgthouse\n```\n\n```text\n…House Keeper…\n```', 'does not print'],
  ['```sh\necho "unclosed\n```', 'ends with'],
  ["```js\nimport { opened } from 'siftd'\n```", 'does not provide an export named'],
  ['```toml\ndb_pth = "x"\n```', 'db_pth'],
  ['```json\n{"a": }\n```', 'no JSON'],
]

testWithTools('mistakes in a page are found and reported with their line', async (t) => {
  const text = mistaken.map(([block]) => block).join('\n\n')
  const page = parsePage('made.md', text)
  const { faults } = await readAlong(t, page, { before: films })
  const missed = mistaken.filter(([block, message]) => {
    const first = text.slice(0, text.indexOf(block)).split('\n').length
    const lines = block.split('\n').map((_, at) => `made.md:${first + at}:`)
    return !faults.some((one) => lines.some((place) => one.startsWith(place)) && one.includes(message))
  })
  t.deepEqual(missed, [])
  t.is(faults.length, mistaken.length, faults.join('\n'))
})
