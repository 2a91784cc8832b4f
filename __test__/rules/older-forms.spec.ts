import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'ava'
import { openRestore, presentMembers, type Rules } from '../../ts/tasks/index.js'
import { archiveOf, metadata, tempDir } from '../backup/archives.js'
import { place } from '../backup/import.js'
import { startServer } from '../support/server.js'

/** A rule as older versions wrote it, and in the present form. */
const forms: readonly (readonly [name: string, older: object, present: object])[] = [
  [
    'actions as a list',
    {
      precedence: 2,
      actions: [
        { selector: { id: 'a', indexUid: 'films' }, action: { type: 'pin', position: 1 } },
        { selector: { indexUid: 'films' }, action: { type: 'pin', position: 2 } },
        { selector: { id: 7 }, action: { type: 'pin', position: 3 } },
      ],
    },
    {
      precedence: 2,
      actions: {
        pin: [
          { id: 'a', position: 1, indexUid: 'films' },
          { id: '7', position: 3 },
        ],
      },
    },
  ],
  [
    'conditions as a list',
    {
      priority: 5,
      conditions: [
        { scope: 'query', contains: 'star' },
        { scope: 'query', contains: 'wars', isEmpty: false },
        { scope: 'time', start: '2026-01-01T00:00:00Z', end: '2026-06-01T00:00:00Z' },
        { scope: 'time', start: '2026-02-01T00:00:00Z' },
      ],
      actions: [],
    },
    {
      precedence: 5,
      conditions: {
        query: { isEmpty: false, words: 'star wars' },
        time: { start: '2026-02-01T00:00:00Z', end: '2026-06-01T00:00:00Z' },
      },
      actions: {},
    },
  ],
  ['a change of one member', { active: false }, { active: false }],
  ['a reset', { priority: null, actions: null }, { precedence: null, actions: null }],
]

for (const [name, older, present] of forms)
  test(`an older rule is converted: ${name}`, (t) => {
    t.deepEqual(presentMembers(older), present)
    t.is(presentMembers(present), present)
  })

const older = {
  uid: 'r',
  description: null,
  lastUpdatedAt: '2026-01-01T00:00:00Z',
  precedence: null,
  active: true,
  conditions: {},
  actions: [{ selector: { id: 'b' }, action: { type: 'pin', position: 0 } }],
}
const present = {
  uid: 'r',
  lastUpdatedAt: '2026-01-01T00:00:00Z',
  active: true,
  conditions: {},
  actions: { pin: [{ id: 'b', position: 0 }] },
}

test('rules and waiting changes that an older version stored take effect', async (t) => {
  const directory = await tempDir(t)
  const restore = await openRestore(directory)
  await restore.rules({ r: older } as unknown as Rules)
  const patch = { actions: [{ selector: { id: 'a' }, action: { type: 'pin', position: 1 } }] }
  await restore.tasks([
    {
      task: {
        uid: 0,
        batchUid: null,
        indexUid: '.meili_dsr',
        status: 'enqueued',
        type: 'dsrUpdate',
        canceledBy: null,
        error: null,
        duration: null,
        enqueuedAt: '2026-02-01T00:00:00Z',
        startedAt: null,
        finishedAt: null,
      },
      newIndexUid: null,
      content: { kind: 'dsrUpdate', uid: 's', patch },
      foreign: null,
    },
  ] as unknown as Parameters<typeof restore.tasks>[0])
  await restore.end()
  await restore.close()
  const server = await startServer(t, { directory, features: ['dynamicSearchRules'] })
  t.deepEqual((await server.get('/dynamic-search-rules/r')).body, present as never)
  await server.settle(t, server.post('/indexes/films/documents', [{ id: 'a' }, { id: 'c' }, { id: 'b' }]))
  t.like((await server.get('/dynamic-search-rules/s')).body, { actions: { pin: [{ id: 'a', position: 1 }] } })
  const { hits } = (await server.post('/indexes/films/search', {})).body
  t.deepEqual(hits as unknown, [{ id: 'b' }, { id: 'a' }, { id: 'c' }])
})

test('an import converts older rules and skips the bookkeeping of the API', async (t) => {
  const { directory, start } = await place(t)
  const archive = join(await tempDir(t), 'foreign.dump')
  const documents = [older, { uid: '__meilisearch_metadata', version: 2 }, { uid: 's', priority: 1 }]
  const entries = [
    [
      'metadata.json',
      {
        uid: '.meili_dsr',
        primaryKey: 'uid',
        createdAt: older.lastUpdatedAt,
        updatedAt: older.lastUpdatedAt,
      },
    ],
    ['settings.json', {}],
  ] as const
  await writeFile(
    archive,
    archiveOf([
      metadata,
      ...entries.map(([name, content]) => ({
        path: `indexes/.meili_dsr/${name}`,
        content: JSON.stringify(content),
      })),
      {
        path: 'indexes/.meili_dsr/documents.jsonl',
        content: documents.map((one) => JSON.stringify(one)).join('\n'),
      },
    ]),
  )
  await start(archive)
  const server = await startServer(t, { directory, features: ['dynamicSearchRules'] })
  const { results } = (await server.post('/dynamic-search-rules', {})).body
  const second = { uid: 's', lastUpdatedAt: '1970-01-01T00:00:00Z', precedence: 1, active: true }
  t.deepEqual(results, [present, { ...second, conditions: {}, actions: {} }] as never)
})
