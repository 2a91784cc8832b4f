/**
 * Damaged or malicious archives: each is refused in one line, and nothing is changed. If a damaged archive is imported
 * nevertheless, the result equals that of the undamaged archive: then only unread bytes were damaged.
 *
 * `ARCHIVE_DAMAGES=400 npx ava dist/__test__/backup/hostile-archives.spec.js` tries more places.
 */
import { copyFile, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { crc32, gunzipSync, gzipSync } from 'node:zlib'
import test, { type ExecutionContext } from 'ava'
import { extract } from 'tar'
import { LaunchError } from '../../../ts/launch/index.js'
import { loadDriver } from '../../../ts/sqlite/driver.js'
import { archiveOf, indexAt, type MadeEntry, metadata, tempDir } from '../../backup/archives.js'
import { place } from '../../backup/import.js'
import { startServer, type TestServer, testEngine } from '../../support/server.js'

const PLACES = Number(process.env.ARCHIVE_DAMAGES ?? 12)

const kinds = ['dump', 'snapshot'] as const
type Kind = (typeof kinds)[number]

const plants = Array.from({ length: 60 }, (_, id) => ({
  id,
  name: `plant ${id % 7} of ${id}`,
  _vectors: { own: [id, 1] },
}))

/** Returns an archive of each kind. */
async function archives(t: ExecutionContext): Promise<Readonly<Record<Kind, Buffer>>> {
  const directory = await tempDir(t)
  const options = { dumpDirectory: directory, snapshots: { directory, keptMax: 1 } }
  const server = await startServer(t, options)
  const embedders = { own: { source: 'userProvided', dimensions: 2 } }
  await server.settle(t, server.patch('/indexes/plants/settings', { sortableAttributes: ['id'], embedders }))
  await server.settle(t, server.post('/indexes/plants/documents', plants))
  await server.settle(t, server.post('/snapshots'))
  const { details } = await server.settle(t, server.post('/dumps'))
  await server.stop()
  return {
    dump: await readFile(join(directory, `${details.dumpUid}.dump`)),
    snapshot: await readFile(join(directory, 'data.ms.snapshot')),
  }
}

async function shown(server: TestServer): Promise<unknown> {
  const paths = [
    '/indexes/plants/documents?retrieveVectors=true&limit=100',
    '/indexes/plants/settings',
    '/tasks',
  ]
  const answers = paths.map(async (path) => (await server.get(path)).body)
  const searched = server.post('/indexes/plants/search', { q: 'plant 3', sort: ['id:desc'], limit: 100 })
  return [...(await Promise.all(answers)), (await searched).body.hits]
}

/** Starts from these bytes. @returns the refusal; null if they are imported */
async function refusal(t: ExecutionContext, kind: Kind, bytes: Buffer) {
  const { parent, directory, start } = await place(t)
  const archive = join(parent, `given.${kind}`)
  await writeFile(archive, bytes)
  await writeFile(join(parent, 'bystander'), 'as it was')
  const error = await start(archive, { kind }).then(
    () => null,
    (reason: unknown) => reason,
  )
  t.deepEqual(await readFile(archive), bytes)
  t.is(await readFile(join(parent, 'bystander'), 'utf8'), 'as it was')
  if (error === null) return { directory, error }
  t.true(error instanceof LaunchError, String(error))
  t.false((error as Error).message.includes('\n'), (error as Error).message)
  t.true((error as Error).message.includes(archive), (error as Error).message)
  t.deepEqual((await readdir(parent)).sort(), ['bystander', `given.${kind}`])
  return { directory, error: error as LaunchError }
}

type Damages = Readonly<Record<string, (bytes: Buffer, share: number) => Buffer>>

const at = (bytes: Buffer, share: number): number => Math.floor(share * (bytes.length - 1))

/** Damages at a relative position in the file. */
const ofArchives: Damages = {
  'cut short': (bytes, share) => bytes.subarray(0, at(bytes, share)),
  'a flipped bit': (bytes, share) => flipped(bytes, share),
  'cut short before it was compressed': (bytes, share) => {
    const tar = gunzipSync(bytes)
    return gzipSync(tar.subarray(0, at(tar, share)))
  },
}

/** Damages before compression. Snapshots have a checksum for each file, dumps have none. */
const ofFiles: Damages = {
  'a flipped bit before it was compressed': (bytes, share) => gzipSync(flipped(gunzipSync(bytes), share)),
  'a block of zeros before it was compressed': (bytes, share) => {
    const tar = gunzipSync(bytes)
    return gzipSync(tar.fill(0, at(tar, share), Math.min(tar.length, at(tar, share) + 512)))
  },
}

function flipped(bytes: Buffer, share: number): Buffer {
  const copy = Buffer.from(bytes)
  const position = at(copy, share)
  copy[position] = copy[position]! ^ (1 << (position % 8))
  return copy
}

for (const kind of kinds)
  test.serial(`a damaged ${kind} is refused, or imported without a difference`, async (t) => {
    t.timeout(600_000)
    const whole = (await archives(t))[kind]
    const { directory } = await refusal(t, kind, whole)
    const expected = await shown(await startServer(t, { directory }))
    const outcomes: Record<string, { refused: number; harmless: number }> = {}
    for (const [what, damage] of Object.entries(kind === 'dump' ? ofArchives : { ...ofArchives, ...ofFiles }))
      for (let position = 0; position < PLACES; position++) {
        const bytes = damage(whole, position / (PLACES - 1))
        if (bytes.equals(whole)) continue
        const { error, directory } = await refusal(t, kind, bytes)
        const counted = outcomes[what] ?? { refused: 0, harmless: 0 }
        outcomes[what] = counted
        if (error !== null) counted.refused++
        else {
          counted.harmless++
          const server = await startServer(t, { directory })
          t.deepEqual(await shown(server), expected, `${what} at ${position} of ${PLACES}`)
          await server.stop()
        }
      }
    t.log(outcomes)
  })

const inSnapshot = (...entries: readonly MadeEntry[]) => archiveOf(entries)
const inDump = (...entries: readonly MadeEntry[]) => archiveOf([metadata, ...entries])
const contents = (some: object) => ({
  path: 'contents.json',
  content: JSON.stringify({ format: 1, version: '0.0.0', files: {}, ...some }),
})

/** Archives made by an attacker or another program. */
const made: readonly (readonly [Kind, string, () => Buffer, RegExp])[] = [
  ...(['dump', 'snapshot'] as const).flatMap((kind) =>
    (
      [
        ['leaves its root', { path: '../../outside', content: 'x' }, /not the path of a file inside/],
        ['starts at the root', { path: '/etc/outside', content: 'x' }, /not the path of a file inside/],
        ['has a backslash', { path: 'indexes\\..\\outside', content: 'x' }, /not the path of a file inside/],
        [
          'is a symbolic link',
          { path: 'indexes/a', type: 'SymbolicLink', linkpath: '/etc/passwd' },
          /SymbolicLink/,
        ],
        ['is a hard link', { path: 'indexes/a', type: 'Link', linkpath: 'engine' }, /Link/],
        ['is a device', { path: 'indexes/a', type: 'CharacterDevice' }, /CharacterDevice/],
        ['is a pipe', { path: 'indexes/a', type: 'FIFO' }, /FIFO/],
        [
          'claims a petabyte',
          { path: 'indexes/a', content: 'x', size: 2 ** 50 },
          /takes \d+ bytes, and the disk|cannot be imported/,
        ],
      ] as const
    ).map(
      ([what, entry, message]) =>
        [kind, `whose entry ${what}`, () => (kind === 'dump' ? inDump : inSnapshot)(entry), message] as const,
    ),
  ),
  ['snapshot', 'of a newer format', () => inSnapshot(contents({ format: 2 })), /format.*2/],
  ['snapshot', 'of no version', () => inSnapshot(contents({ version: 7 })), /version/],
  ['snapshot', 'without a task store', () => inSnapshot(contents({})), /no tasks\/tasks\.db/],
  [
    'snapshot',
    'with missing files',
    () => inSnapshot(contents({ files: { 'tasks/tasks.db': { bytes: 1, crc32: 1 } } })),
    /no `tasks\/tasks\.db`/,
  ],
  ['snapshot', 'that is a dump', () => inDump(), /no contents\.json/],
  ['dump', 'that is a snapshot', () => inSnapshot(contents({})), /metadata\.json/],
  [
    'dump',
    'with a newer layout',
    () => archiveOf([{ ...metadata, content: metadata.content.replace('V6', 'V9') }]),
    /V9/,
  ],
  ...['keys.jsonl', 'tasks/queue.jsonl', 'network.json', 'indexes/a/settings.json'].map(
    (path) =>
      [
        'dump',
        `whose ${path} is nested without end`,
        () =>
          inDump(...indexAt('a').filter((one) => one.path !== path), {
            path,
            content: '['.repeat(20_000_000),
          }),
        /nested (deeper than|too deeply)|levels/,
      ] as const,
  ),
]

for (const [kind, what, bytes, message] of made)
  test(`a ${kind} ${what} is refused in one line, and nothing is changed`, async (t) => {
    const { error } = await refusal(t, kind, bytes())
    t.regex(error?.message ?? '', message)
  })

/** Returns the snapshot with another task store, whose length and checksum are valid. */
async function withStore(t: ExecutionContext, snapshot: Buffer, sql: string): Promise<Buffer> {
  const directory = await tempDir(t)
  await writeFile(join(directory, 'given'), snapshot)
  const cwd = join(directory, 'files')
  await mkdir(cwd)
  await extract({ file: join(directory, 'given'), cwd })
  const connection = loadDriver().driver.open(join(cwd, 'tasks', 'tasks.db'))
  connection.exec(sql)
  connection.close()
  const contents = JSON.parse(await readFile(join(cwd, 'contents.json'), 'utf8'))
  const entries: MadeEntry[] = []
  for (const path of Object.keys(contents.files)) {
    const content = await readFile(join(cwd, path))
    contents.files[path] = { bytes: content.length, crc32: crc32(content) }
    entries.push({ path, content })
  }
  return archiveOf([...entries, { path: 'contents.json', content: JSON.stringify(contents) }])
}

const stores: readonly (readonly [what: string, sql: string, message: RegExp])[] = [
  [
    'whose catalogue has an outside directory',
    "UPDATE catalogue SET id = '../../../bystander'",
    /"\.\.\/\.\.\/\.\.\/bystander" is not the id of an index/,
  ],
  [
    'that announces an outside directory',
    "INSERT INTO disposable VALUES ('../bystander')",
    /"\.\.\/bystander" is not the id/,
  ],
  ['with a failed commit elsewhere', "INSERT INTO failed_commits VALUES ('..', 1)", /"\.\." is not the id/],
  ['whose index has a path as name', "UPDATE catalogue SET uid = '../plants'", /no name of an index/],
  [
    'whose upload is outside',
    "INSERT INTO contents (uid, body, kind, payload, payload_bytes, may_create) SELECT min(uid), '{}', 'documents', '../engine', 1, 0 FROM tasks",
    /no name of an upload/,
  ],
  [
    'with an endless trigger',
    `CREATE TRIGGER loop AFTER INSERT ON tasks BEGIN DELETE FROM tasks WHERE uid IN (
      WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT -x FROM n); END`,
    /the trigger `loop`/,
  ],
  [
    'with a modified trigger',
    'DROP TRIGGER swap_added; CREATE TRIGGER swap_added AFTER INSERT ON tasks BEGIN DELETE FROM keys; END',
    /the trigger `swap_added`/,
  ],
  ['with a view', 'CREATE VIEW extra AS SELECT 1', /the view `extra`/],
  ['with another table', 'CREATE TABLE extra (a)', /the table `extra`/],
  [
    'with a condition on a column',
    'ALTER TABLE disposable ADD COLUMN extra INTEGER CHECK (length(randomblob(1000000)) > 0)',
    /the table `disposable`/,
  ],
  ['with an index on an expression', 'CREATE INDEX extra ON tasks (abs(uid))', /the index `extra`/],
  ['without an index', 'DROP INDEX tasks_batch', /lacks the index `tasks_batch`/],
]

test('a snapshot with a manipulated task store is refused', async (t) => {
  const { snapshot } = await archives(t)
  for (const [what, sql, message] of stores) {
    const { error } = await refusal(t, 'snapshot', await withStore(t, snapshot, sql))
    t.regex(error?.message ?? 'imported', message, what)
  }
  t.is((await refusal(t, 'snapshot', await withStore(t, snapshot, 'SELECT 1'))).error, null)
})

test('a snapshot that unpacks to far more than listed is refused early', async (t) => {
  const zeros = Buffer.alloc(64 * 1024 * 1024).toString('latin1')
  const bomb = archiveOf([{ path: 'indexes/a/zeros', content: zeros, size: 16 }])
  t.true(bomb.length < 200_000)
  t.regex((await refusal(t, 'snapshot', bomb)).error?.message ?? '', /after its end mark/)
})

test(`an archive that is imported with --engine ${testEngine === 'native' ? 'fallback' : 'native'} reports its engine`, async (t) => {
  const { snapshot } = await archives(t)
  const { parent, start } = await place(t)
  const archive = join(parent, 'given.snapshot')
  await writeFile(archive, snapshot)
  await copyFile(archive, `${archive}.copy`)
  const other = testEngine === 'native' ? 'fallback' : 'native'
  await t.throwsAsync(start(archive, { kind: 'snapshot', engine: other }), {
    message: /was written by the|native/,
  })
  await t.throwsAsync(stat(join(parent, 'data.ms')), { code: 'ENOENT' })
})
