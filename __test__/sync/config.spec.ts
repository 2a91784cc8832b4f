import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'ava'
import { LaunchError } from '../../ts/launch/index.js'
import { readSyncConfig, syncConfig } from '../../ts/transfer/sync/config.js'
import { tempDir } from '../backup/archives.js'

const index = { uid: 'films', table: 'films' }

test('a configuration gets defaults', (t) => {
  const { name, target, mappings, slot, metrics } = syncConfig(
    { index: [{ ...index, key: 'id' }] },
    '/etc/sync.toml',
  )
  t.deepEqual(
    { name, target, slot, metrics },
    {
      name: 'siftd_sync',
      target: { url: 'http://localhost:7700', key: null, keyFile: null },
      slot: { alarmBytes: 1024 ** 3, dropBytes: null },
      metrics: null,
    },
  )
  t.deepEqual(mappings, [
    { ...index, key: ['id'], primaryKey: null, where: null, fields: null, query: null, related: [] },
  ])
})

test('paths are relative to the configuration, and a query may end with a semicolon', (t) => {
  const { target, mappings } = syncConfig(
    { target: { key_file: 'siftd.key' }, index: [{ ...index, query: 'select 1; ' }] },
    '/etc/siftd/sync.toml',
  )
  t.is(target.keyFile, '/etc/siftd/siftd.key')
  t.is(mappings[0]?.query, 'select 1')
})

const mistakes: readonly (readonly [unknown, string])[] = [
  [[], 'the configuration must be an object'],
  [{}, '`index` is missing: at least one table `[[index]]` with `uid` and `table`'],
  [{ index: [index], sorce: {} }, '`sorce` is unknown, did you mean `source`?'],
  [{ name: 'A-b', index: [index] }, '`name` must have 1 to 50 characters of a to z, 0 to 9 and _'],
  [{ index: [index, index] }, '`index` names `films` twice'],
  [{ index: [{ uid: 'films' }] }, '`index[0].table` is missing'],
  [{ index: [{ ...index, uid: 'a b' }] }, '`index[0].uid` is no index uid: use letters, digits, - and _'],
  [{ index: [{ ...index, key: [1] }] }, '`index[0].key` must be a text or a list of texts'],
  [
    { index: [{ ...index, query: 'select', fields: {} }] },
    '`index[0].fields` and `query` exclude each other: name fields in the query',
  ],
  [{ index: [{ ...index, related: [{ table: 'a', key: 'b' }] }] }, '`index[0].related` needs `query`'],
  [{ index: [index], target: { url: 'ftp://a' } }, '`target.url` is not a URL of http or https'],
  [{ index: [index], slot: { drop_bytes: -1 } }, '`slot.drop_bytes` must be a number above 0'],
]

for (const [value, message] of mistakes)
  test(`a mistake is named: ${message}`, (t) => {
    const error = t.throws(() => syncConfig(value, 'sync.toml'))
    t.is(error?.message, `sync.toml: ${message}`)
  })

for (const [name, content, why] of [
  ['a.toml', 'name = "x"\nslot =', 'is not valid TOML: line 2, column 7: invalid value'],
  ['a.json', '{"name" 1}', 'is not JSON: '],
  ['a.mjs', "throw 'no database'", 'fails: no database'],
  ['b.mjs', "import './missing.mjs'", 'fails: Cannot find module '],
  ['c.mjs', "(await import('node:fs')).readFileSync('/missing')", 'fails: ENOENT'],
  ['a.toml', null, 'does not exist; `siftd sync postgres init` writes one'],
] as const)
  test(`the configuration ${name} with ${content} is refused: ${why}`, async (t) => {
    const path = join(await tempDir(t), name)
    if (content !== null) await writeFile(path, content)
    const error = await t.throwsAsync(readSyncConfig(path), { instanceOf: LaunchError })
    t.is(error.exitCode, 2)
    t.true(error.message.startsWith(`${path} ${why}`), error.message)
  })
