import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  embedderSecret,
  FILMS,
  hookSecret,
  masterKey,
  migration,
  startSource,
  startTarget,
} from '../../migrate/world.js'
import { runCommand } from '../../support/command.js'
import { chosenEngines } from '../../support/engines.js'
import type { TestBody } from '../../support/server.js'
import { testNeeding } from '../../support/test-needing.js'

// Rules, for targets of both engines:
// 1. A migration copies features, indexes, settings, unchanged documents, vectors with their flags, rules, keys and
//    webhooks. It calls no embedder. It lists the parts that it cannot copy.
// 2. Masked secrets are reported and not copied. They count as differences until they are set.
// 3. Afterwards both instances give the same answers to searches.
// 4. No output shows a key or secret.

const searches = [
  { indexUid: 'films', q: 'lighthouse' },
  { indexUid: 'films', q: 'beacon kepers', limit: 5 },
  { indexUid: 'films', q: 'quite orbit', facets: ['genres', 'year'] },
  { indexUid: 'films', filter: 'year > 1990', sort: ['rating:desc'], page: 2, hitsPerPage: 10 },
  { indexUid: 'films', filter: 'genres = nothing AND unknown = 1' },
  { indexUid: 'films', q: 'movie', matchingStrategy: 'all' },
  { indexUid: 'places', vector: [1, 2, 3], hybrid: { embedder: 'own', semanticRatio: 1 } },
  { indexUid: 'texts', vector: [9, 2], hybrid: { embedder: 'made' }, q: 'text', limit: 40 },
  { path: '/indexes/films/search?q=atlas&limit=3', method: 'GET' },
  {
    path: '/multi-search',
    body: {
      queries: [
        { indexUid: 'films', q: 'a' },
        { indexUid: 'texts', q: 'b' },
      ],
    },
  },
  {
    path: '/multi-search',
    body: JSON.stringify({
      federation: {},
      queries: [{ indexUid: 'films', q: 'the' }, { indexUid: 'places' }],
    }),
  },
  { path: '/indexes/films/documents', method: 'POST', body: [] },
]

const uncopied = [
  'the history of 9 tasks and their batches: a dump brings it',
  'the network with east: set them with PATCH /network if the target should use them too',
]

async function rulesOf(call: (method: string, path: string, body: object) => Promise<TestBody>) {
  const { results } = await call('POST', '/dynamic-search-rules', {})
  return results
    .map(({ lastUpdatedAt: _date, ...rule }) => rule)
    .toSorted((a, b) => (String(a.uid) < String(b.uid) ? -1 : 1))
}

for (const { name, needs } of chosenEngines) {
  testNeeding(needs)(`${name}: a migration copies an instance, and both give the same answers`, async (t) => {
    const [{ server, provider }, target] = await Promise.all([startSource(t), startTarget(t, name)])
    const calls = provider.calls.length
    const args = migration(server.url, target)
    const dry = await runCommand([...args, '--dry-run'])
    t.is(dry.code, 0)
    t.true(
      dry.lines.some((line) =>
        line.includes(`\`films\`: ${(FILMS + 1).toLocaleString('en')} documents, 0 embeddings`),
      ),
    )
    t.true(dry.lines.includes('would copy 3 dynamic search rules'))
    t.deepEqual(
      dry.lines.filter((line) => line.startsWith('would not copy')),
      uncopied.map((what) => `would not copy ${what}`),
    )
    t.is((await target.call('GET', '/indexes')).total, 0)

    const first = await runCommand(args)
    t.is(first.code, 1, first.errors.join('\n'))
    t.deepEqual(
      first.lines.filter((line) => line.startsWith('differs')),
      [
        'differs: index `texts`: embedder `made`',
        'differs: webhook of masked.example.org is missing or has different headers',
      ],
    )
    const notes = first.lines.filter((line) => line.startsWith('note'))
    t.is(notes.length, 2)
    t.regex(notes[0] ?? '', /`texts`: embedder `made` needs apiKey again.*PATCH \/indexes\/texts\/settings/)
    t.regex(notes[1] ?? '', /webhook of masked\.example\.org needs its header authorization again/)
    t.deepEqual(
      first.lines.filter((line) => line.startsWith('not copied')),
      uncopied.map((what) => `not copied: ${what}`),
    )
    t.false(existsSync(join(target.directory, 'state.json')))

    await target.settle(t, 'PATCH', '/indexes/texts/settings', {
      embedders: { made: { apiKey: embedderSecret } },
    })
    const { results } = await target.call('GET', '/webhooks')
    const masked = results.find(({ url }) => url === 'https://masked.example.org/')
    await target.call('PATCH', `/webhooks/${masked?.uuid}`, { headers: { authorization: hookSecret } })

    await target.settle(t, 'PATCH', '/dynamic-search-rules/beacons', { precedence: 9, active: false })
    await target.settle(t, 'PATCH', '/dynamic-search-rules/everywhere', { description: 'of the target' })

    // Running it again does not undo settings that were made on the target.
    const second = await runCommand(args)
    t.deepEqual([second.code, second.lines.at(-1)], [0, 'no differences'], second.lines.join('\n'))
    const verified = await runCommand([...args, '--verify'])
    t.deepEqual([verified.code, verified.lines], [0, ['no differences']])
    t.is(provider.calls.length, calls, 'no embedder was called')
    const names = (keys: readonly Readonly<Record<string, unknown>>[]) =>
      keys.map(({ name }) => String(name)).sort()
    const ofSource = (await server.get('/keys?limit=100')).body as unknown as { results: { name: string }[] }
    t.deepEqual(
      names((await target.call('GET', '/keys?limit=100')).results),
      names(ofSource.results),
      'no key twice',
    )
    t.deepEqual(
      await rulesOf(target.call),
      await rulesOf(async (...call) => (await server.post(call[1], {})).body),
    )

    for (const path of [
      '/indexes/films/documents/9007199254740993',
      '/indexes/places/documents?limit=250&retrieveVectors=true',
      '/indexes/texts/documents?limit=50&retrieveVectors=true',
    ]) {
      const headers = { authorization: `Bearer ${masterKey}` }
      const copied = await (await fetch(`${target.url}${path}`, { headers })).text()
      t.is(copied, (await server.get(path)).bytes.toString(), path)
    }
    const file = join(target.directory, 'searches.ndjson')
    await writeFile(file, searches.map((search) => JSON.stringify(search)).join('\n'))
    const sides = [
      '--left',
      server.url,
      '--left-key',
      masterKey,
      '--right',
      target.url,
      '--right-key',
      masterKey,
    ]
    const compared = await runCommand(['compare', ...sides, '--scores', file])
    t.is(compared.code, 0, compared.lines.join('\n'))
    t.deepEqual(compared.lines, [
      `${searches.length - 1} searches, ${searches.length - 1} equal, 0 differ, 1 refused by both, skipped 1 request that is no search`,
    ])

    for (const { lines, errors } of [dry, first, second, verified, compared])
      for (const secret of [masterKey, embedderSecret, 'hook-secret'])
        t.notRegex([...lines, ...errors].join('\n'), new RegExp(secret))
  })
}
