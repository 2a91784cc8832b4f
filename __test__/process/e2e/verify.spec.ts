/** `siftd verify` reports each damage that could change an answer, and changes nothing. */

import { createHash } from 'node:crypto'
import { readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import test, { type ExecutionContext } from 'ava'
import { markDataDirectory, openInstance } from '../../../ts/instance/index.js'
import { packageVersion } from '../../../ts/launch/index.js'
import { openLog } from '../../../ts/telemetry/index.js'
import { tempDir } from '../../backup/archives.js'
import { runCommand } from '../../support/command.js'
import { startDaemon } from '../../support/daemon.js'
import { startServer, testEngine } from '../../support/server.js'

const films = Array.from({ length: 300 }, (_, id) => ({ id, title: `film ${id} ${'of words '.repeat(8)}` }))

/** Creates a data directory with an index of two commits and a waiting upload. @returns the paths of both */
async function made(t: ExecutionContext): Promise<{ directory: string; index: string }> {
  const directory = await tempDir(t)
  const server = await startServer(t, { directory })
  await server.settle(t, server.post('/indexes/films/documents', films))
  await server.settle(t, server.post('/indexes/films/documents', films.slice(0, 100)))
  await server.stop()
  const waiting = await startServer(t, { directory, limits: { tasksMax: 0 } })
  await waiting.post('/indexes/films/documents', [...films, ...films, ...films])
  await waiting.stop()
  await markDataDirectory(directory, packageVersion(), null)
  await writeFile(join(directory, 'engine'), testEngine)
  const names = await readdir(join(directory, 'indexes'), { withFileTypes: true })
  const index = names.find((entry) => entry.isDirectory())?.name ?? ''
  return { directory, index: join(directory, 'indexes', index) }
}

type Place = Awaited<ReturnType<typeof made>>

async function flip(path: string, at: (length: number) => number): Promise<void> {
  const bytes = await readFile(path)
  const position = at(bytes.length)
  bytes[position] = bytes[position]! ^ 4
  await writeFile(path, bytes)
}

const fileIn = async (directory: string, pattern: RegExp): Promise<string> =>
  join(
    directory,
    (await readdir(directory))
      .filter((name) => pattern.test(name))
      .sort()
      .at(-1) ?? '',
  )

/** Returns the digest of each file by path below a directory. */
async function contentsOf(directory: string): Promise<Readonly<Record<string, string>>> {
  const digests: [string, string][] = []
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    // Readers create and remove the lock.
    if (!entry.isFile() || path.endsWith(join('tasks', 'lock'))) continue
    digests.push([
      path,
      createHash('sha256')
        .update(await readFile(path))
        .digest('hex'),
    ])
  }
  return Object.fromEntries(digests)
}

const harms: readonly (readonly [string, (place: Place) => Promise<void>, RegExp])[] = [
  [
    'a flipped bit in an index',
    async ({ index }) => flip(await fileIn(index, /\.store$|^commits\.log$|^commit-/), (n) => n >> 1),
    /index films: /,
  ],
  ['a missing index directory', ({ index }) => rm(index, { recursive: true }), /index films: /],
  [
    'a missing newest commit',
    async ({ index }) => {
      const newest = await fileIn(index, /^commits\.log$|^commit-/)
      if (newest.endsWith('.log')) return truncate(newest, (await readFile(newest)).length - 10)
      return rm(newest)
    },
    /index films: .*(commits\.log|commit-\d{20}): .*(what came after is lost|is damaged|could not)/,
  ],
  [
    'an empty commit file',
    async ({ index }) => truncate(await fileIn(index, /^commits\.log$|^commit-/)),
    /index films: /,
  ],
  [
    'a missing newest commit file',
    async ({ index }) => rm(await fileIn(index, /^commits\.log$|^commit-/)),
    /index films: /,
  ],
  [
    'a flipped bit in the task store',
    ({ directory }) => flip(join(directory, 'tasks', 'tasks.db'), (n) => n - 300),
    /tasks\.db/,
  ],
  [
    'a missing task store',
    ({ directory }) => rm(join(directory, 'tasks'), { recursive: true }),
    /tasks\.db .*missing/,
  ],
  [
    'a flipped bit in an upload',
    async ({ directory }) => flip(await fileIn(join(directory, 'update_files'), /./), (n) => n >> 1),
    /task 2 will fail with `upload_damaged`/,
  ],
  [
    'a newer version',
    ({ directory }) => writeFile(join(directory, 'VERSION'), '99.0.0\n'),
    /written by version 99\.0\.0/,
  ],
]

for (const [what, harm, message] of harms)
  test(`${testEngine}: ${what} is reported with its cost and exit code 1, and nothing is changed`, async (t) => {
    const place = await made(t)
    await harm(place)
    const before = await contentsOf(place.directory)
    const { code, lines, errors } = await runCommand(['verify', '--db-path', place.directory])
    t.deepEqual(await contentsOf(place.directory), before)
    t.is(code, 1, errors.join('\n'))
    t.true(
      lines.some((line) => line.startsWith('damaged: ') && message.test(line)),
      lines.join('\n'),
    )
    t.regex(lines.at(-1) ?? '', /^(1 damage|\d+ damages) in /)
  })

test(`${testEngine}: an undamaged directory passes and is not changed`, async (t) => {
  const { directory } = await made(t)
  const before = await contentsOf(directory)
  const { code, lines } = await runCommand(['verify', '--db-path', directory])
  t.deepEqual([code, lines], [0, [`${directory} is sound`]])
  t.deepEqual(await contentsOf(directory), before)
})

/** Opens and closes the directory as a server does. @returns the log */
async function openedAndClosed(t: ExecutionContext, directory: string): Promise<readonly string[]> {
  const logged: string[] = []
  const destination = new Writable({
    write(chunk, _encoding, done) {
      logged.push(String(chunk))
      done()
    },
  })
  const instance = await openInstance({
    directory,
    version: packageVersion(),
    upgrade: false,
    rebuildTaskStore: false,
    userDirectory: await tempDir(t),
    batch: { tasksMax: 0, payloadBytesMax: null },
    engine: testEngine,
    indexingMemoryBytes: 64 * 1024 * 1024,
    indexingThreads: 1,
    log: openLog({ level: 'WARN', mode: 'JSON', destination }),
  })
  await instance.close()
  return logged
}

const protections: Readonly<Record<string, RegExp>> = {
  'tasks.mark': /mark: its checksum does not match/,
  'tasks/tasks.db-checksums': /checksums: it is missing, or its checksums do not match/,
  'indexes/catalogue.json': /catalogue\.json: it is missing, or its checksum does not match/,
  'instance-uid': /instance-uid: it holds no uid/,
  engine: /engine: it names no engine/,
}

for (const [file, message] of Object.entries(protections))
  test(`${testEngine}: a flipped bit in ${file} is reported with exit code 1, and a start repairs it`, async (t) => {
    const { directory } = await made(t)
    await writeFile(join(directory, 'instance-uid'), 'aa0e2a5e-1f1f-4d3f-9a0a-2a1f4bb2a001')
    // Damages the hyphen of the uid. The uid has no checksum, so a changed digit would be another valid uid.
    await flip(join(directory, file), () => (file === 'instance-uid' ? 8 : 2))
    const before = await contentsOf(directory)
    const damaged = await runCommand(['verify', '--db-path', directory])
    t.deepEqual([damaged.code, damaged.lines.length], [1, 2], damaged.lines.join('\n'))
    t.regex(damaged.lines[0] ?? '', message)
    t.true(damaged.lines[0]?.startsWith('protection lost: '))
    t.deepEqual(await contentsOf(directory), before)
    const warnings = await openedAndClosed(t, directory)
    t.true(warnings.length > 0)
    const mended = await runCommand(['verify', '--db-path', directory])
    t.deepEqual([mended.code, mended.lines], [0, [`${directory} is sound`]])
  })

test('wrong usage and a directory without data end with a one-line message', async (t) => {
  const nowhere = await runCommand(['verify', '--db-path', join(await tempDir(t), 'none')])
  t.deepEqual([nowhere.code, nowhere.errors.length], [1, 1])
  const wrong = await runCommand(['verify', '--databas'])
  t.deepEqual([wrong.code, wrong.errors.length], [2, 1])
})

test(`${testEngine}: a directory in use is refused with a one-line message`, async (t) => {
  const { directory } = await made(t)
  const server = await startDaemon(t, directory, [])
  const { code, lines, errors } = await runCommand(['verify', '--db-path', directory])
  t.deepEqual([code, lines, errors.length], [1, [], 1])
  t.regex(errors[0] ?? '', /in use by process \d+ .*stop it first, or ask GET \/verify/)
  t.is((await server.call('GET', '/verify')).status, 200)
})
