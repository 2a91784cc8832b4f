/** `siftd migrate --from-typesense` and `--from-algolia` as a user runs them. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { runCommand } from '../../support/command.js'
import { startServer } from '../../support/server.js'
import { startTypesense, TYPESENSE_KEY } from '../../support/typesense.js'

test('commands copy a collection and an exported index, and list what has no counterpart', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'siftd-foreign-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const file = async (name: string, content: unknown): Promise<string> => {
    await writeFile(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content))
    return join(folder, name)
  }
  const { url, get } = await startServer(t)
  const typesense = await startTypesense(t, [
    {
      schema: { name: 'films', fields: [{ name: 'title', type: 'string' }] },
      documents: [{ id: '1', title: 'Solaris' }],
    },
  ])
  const keyFile = await file('typesense.key', `${TYPESENSE_KEY}\n`)
  const from = ['migrate', '--from-typesense', typesense, '--from-key-file', keyFile, '--to', url]
  const dry = await runCommand([...from, '--dry-run'])
  t.is(dry.lines[0], 'would copy index `films`: 1 document, 0 rules', dry.errors.join('\n'))
  const copied = await runCommand(from)
  t.deepEqual(
    [copied.code, copied.lines.at(-1), copied.errors.filter((line) => !line.includes('documents'))],
    [0, 'no differences', []],
  )
  t.true(copied.lines.some((line) => line.startsWith('not carried over: `films`: filters on `title`')))
  t.like((await get('/indexes/films/documents/1')).body, { title: 'Solaris' })

  const records = await file(
    'products.ndjson',
    '{"objectID":"1","name":"Lamp"}\n{"objectID":"2","name":"Desk"}\n',
  )
  const algolia = await runCommand([
    ...['migrate', '--to', url, '--from-algolia', records],
    ...['--algolia-settings', await file('settings.json', { attributesForFaceting: ['name'] })],
    ...[
      '--algolia-synonyms',
      await file('synonyms.json', { hits: [{ type: 'synonym', synonyms: ['lamp', 'light'] }] }),
    ],
    ...['--algolia-rules', await file('rules.json', [])],
  ])
  t.is(algolia.code, 0, algolia.errors.join('\n'))
  t.like((await get('/indexes/products/search?q=light')).body, { estimatedTotalHits: 1 })
})

test('sources exclude each other, and options of other sources are refused', async (t) => {
  for (const [args, message] of [
    [['--from', 'http://a', '--from-typesense', 'http://b'], /exclude each other/],
    [['--algolia-rules', 'rules.json'], /need --from-algolia/],
    [['--from-algolia', 'ghost.ndjson', '--verify'], /work only with --from/],
    [['--from-algolia', 'ghost.ndjson'], /ghost\.ndjson cannot be read/],
    [['--from-typesense', 'nowhere'], /--from-typesense is not a URL/],
  ] as const) {
    const { code, errors } = await runCommand(['migrate', ...args])
    t.is(code, 2)
    t.regex(errors.join('\n'), message)
  }
})
