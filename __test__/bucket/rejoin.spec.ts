/**
 * A copy of index files that is opened again. Rules:
 * 1. Files that were verified and did not change since are not read again. A changed file is.
 * 2. An interrupted download continues where it stopped, in the middle of a file too.
 */
import { appendFile, mkdir, mkdtemp, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { crc32 } from 'node:zlib'
import test, { type ExecutionContext } from 'ava'
import { rememberVerified, verifiedIn } from '../../ts/replication/follow/verified-files.js'
import { type FilePart, fetchFiles, type IndexFiles, partsOnDisk } from '../../ts/replication/index.js'

const ID = '00000000-0000-4000-8000-000000000001'
const PART = 1000
const bytesFrom = (from: number, name: string): Buffer => Buffer.alloc(PART, `${name} ${from} `)

/** Parts of a file, each in an object that is named after its start. */
const partsOf = (name: string, count: number): readonly FilePart[] =>
  Array.from({ length: count }, (_, at) => {
    const bytes = bytesFrom(at, name)
    return { from: at * PART, bytes: PART, crc: crc32(bytes), location: { key: `${name}/${at}` } }
  })

async function copy(t: ExecutionContext, counts: Readonly<Record<string, number>>) {
  const directory = await mkdtemp(join(tmpdir(), 'siftd-rejoin-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  const index = join(directory, 'indexes', ID)
  const files: IndexFiles = new Map(
    Object.entries(counts).map(([name, count]) => [name, partsOf(name, count)]),
  )
  const read: string[] = []
  /** Downloads the files. @param stopsAt key of the first part that cannot be read */
  const fetch = async (present: IndexFiles, stopsAt?: string): Promise<readonly string[]> => {
    read.length = 0
    const part = async ({ location }: FilePart): Promise<Buffer | null> => {
      const { key } = location as { readonly key: string }
      if (key === stopsAt) return null
      read.push(key)
      const [, name, at] = /^(.*)\/(\d+)$/.exec(key)!
      return bytesFrom(Number(at), name!)
    }
    await fetchFiles({ present, files }, index, part, () => undefined)
    return read
  }
  const contents = async (name: string): Promise<Buffer> => readFile(join(index, name))
  const expected = (name: string): Buffer =>
    Buffer.concat(Array.from({ length: counts[name]! }, (_, at) => bytesFrom(at, name)))
  return { directory, index, files, fetch, contents, expected }
}

const nothing: IndexFiles = new Map()

test('an interrupted download continues with the first missing part of the file', async (t) => {
  const { index, files, fetch, contents, expected } = await copy(t, { segment: 40, 'commit-1': 2 })
  await t.throwsAsync(fetch(nothing, 'segment/25'), { message: /segment\/25 is missing/ })
  await t.throwsAsync(contents('segment'), { code: 'ENOENT' })
  // A damaged part of the interrupted download is fetched again, and so is everything after it.
  await damage(join(index, 'segment.fetched'), 20 * PART)
  const present = await partsOnDisk(index, files, false)
  t.deepEqual([...present.keys()], [])
  const read = await fetch(present)
  t.deepEqual(read[0], 'segment/20')
  t.is(read.length, 20 + 2)
  for (const name of files.keys()) t.deepEqual(await contents(name), expected(name))
})

test('a file with more bytes than known keeps those that the log has', async (t) => {
  const { index, files, fetch, contents, expected } = await copy(t, { log: 30 })
  await mkdir(index, { recursive: true })
  const beginning = Buffer.concat(Array.from({ length: 20 }, (_, at) => bytesFrom(at, 'log')))
  await writeFile(join(index, 'log'), Buffer.concat([beginning, Buffer.from('of a local commit')]))
  const known: IndexFiles = new Map([['log', files.get('log')!.slice(0, 5)]])
  t.deepEqual(
    await fetch(known),
    Array.from({ length: 10 }, (_, at) => `log/${20 + at}`),
  )
  t.deepEqual(await contents('log'), expected('log'))
})

async function damage(path: string, at: number): Promise<void> {
  const bytes = await readFile(path)
  bytes[at]! ^= 1
  await writeFile(path, bytes)
}

/** Changes of a file that must be noticed. `times` has those of before. */
const changes: readonly (readonly [name: string, change: (path: string) => Promise<void>])[] = [
  ['other bytes', (path) => damage(path, 10)],
  ['more bytes', (path) => appendFile(path, 'x')],
  [
    'other bytes with the former time',
    async (path) => {
      await damage(path, 10)
      await utimes(path, 1, 1)
    },
  ],
  [
    'another file',
    async (path) => {
      const bytes = await readFile(path)
      bytes[0]! ^= 1
      await writeFile(`${path}.other`, bytes)
      await rename(`${path}.other`, path)
    },
  ],
]

/** Returns the files that are read to verify a copy. */
async function readTo(
  { directory, index, files }: Awaited<ReturnType<typeof copy>>,
  wanted: IndexFiles = files,
): Promise<readonly string[]> {
  const known = (await verifiedIn(directory))(ID)
  const read: string[] = []
  await partsOnDisk(index, wanted, false, (name, stats, parts) => {
    const found = known(name, stats, parts)
    if (found === null) read.push(name)
    return found
  })
  return read
}

test('verified files are not read again, and a changed one is', async (t) => {
  const made = await copy(t, { segment: 3, 'deep/log': 2, 'commit-1': 1 })
  const { directory, index, files, fetch } = made
  await fetch(nothing)
  t.deepEqual((await readTo(made)).toSorted(), ['commit-1', 'deep/log', 'segment'])
  await rememberVerified(directory, new Map([[ID, files]]))
  t.deepEqual(await readTo(made), [])
  const present = await partsOnDisk(index, files, false, (await verifiedIn(directory))(ID))
  t.deepEqual(present, new Map(files))

  // The log has a longer file by now. The parts on disk need not be read, and one with other parts must be.
  const grown = new Map([...files, ['deep/log', partsOf('deep/log', 4)]])
  t.deepEqual(await readTo(made, grown), [])
  const replaced = new Map([...files, ['segment', partsOf('another', 3)]])
  t.deepEqual(await readTo(made, replaced), ['segment'])

  for (const [name, change] of changes) {
    const path = join(index, 'segment')
    const before = await readFile(path)
    await change(path)
    t.deepEqual(await readTo(made), ['segment'], name)
    await writeFile(path, before)
    await rememberVerified(directory, new Map([[ID, files]]))
    t.deepEqual(await readTo(made), [], name)
  }
  for (const text of ['', '{', '[]', '{"a":{"b":[1]}}']) {
    await mkdir(dirname(join(directory, 'verified-files.json')), { recursive: true })
    await writeFile(join(directory, 'verified-files.json'), text)
    t.is((await readTo(made)).length, 3, text)
  }
})
