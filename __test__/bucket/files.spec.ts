/** Index files that are uploaded to a bucket commit by commit and downloaded elsewhere. */
import { createHash } from 'node:crypto'
import { appendFile, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import {
  DamagedPartError,
  type FilePart,
  FilePublisher,
  type FilesChange,
  fetchFiles,
  InlineParts,
  type ObjectStore,
  PublishedFiles,
} from '../../ts/replication/index.js'
import { INLINE_BYTES_MAX } from '../../ts/replication/object-store/limits.js'
import { TestEngine } from '../support/engine.js'
import { testedEngines } from '../support/engines.js'
import { memoryStore } from '../support/memory-store.js'
import { numbers } from '../support/numbers.js'
import { testNeeding } from '../support/test-needing.js'

async function temporary(t: ExecutionContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'siftd-bucket-files-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  return directory
}

const never = new AbortController().signal

/** A bucket, and a log with only file changes. */
class Channel {
  readonly store: ObjectStore & { readonly objects: Map<string, Buffer> }
  readonly #records: { readonly id: string; readonly change: FilesChange; readonly inline: Buffer }[] = []
  readonly #published = new PublishedFiles()
  readonly #publisher: FilePublisher

  constructor(store = memoryStore()) {
    this.store = store
    let objects = 0
    this.#publisher = new FilePublisher(
      store,
      (id, name, from, bytes) => `index/${id}/1/${objects++}-${name}.${from}-${from + bytes}`,
    )
  }

  /** Publishes a directory. @param isLost true if the change is not logged @returns bytes sent */
  async publish(id: string, directory: string, isLost = false): Promise<number> {
    const before = this.#sent
    const known = this.#published.of(id)
    const inline = new InlineParts()
    const change = await this.#publisher.publish(id, directory, known, inline, never)
    const record = { id, change, inline: inline.joined() }
    if (!isLost) this.#published.apply(this.#records.push(record) - 1, id, change)
    return this.#sent - before + inline.joined().length
  }

  get #sent(): number {
    return [...this.store.objects.values()].reduce((sum, { length }) => sum + length, 0)
  }

  /** Downloads an index according to the log records. */
  async fetch(id: string, directory: string): Promise<void> {
    const files = new PublishedFiles()
    for (const [seq, { id, change }] of this.#records.entries()) files.apply(seq, id, change)
    await fetchFiles(
      { present: new Map(), files: files.of(id) },
      directory,
      (part) => this.#read(part),
      () => undefined,
    )
  }

  async #read({ location, bytes }: FilePart): Promise<Uint8Array | null> {
    if ('key' in location) return this.store.get(location.key, { bytesMax: bytes })
    const { seq, offset } = location
    return this.#records[seq]!.inline.subarray(offset, offset + bytes)
  }
}

const digestOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

/** Paths below a directory, each with a digest of the file. */
async function treeOf(directory: string): Promise<Record<string, string>> {
  const tree: Record<string, string> = {}
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isFile()) tree[path.slice(directory.length)] = digestOf(await readFile(path))
  }
  return tree
}

test('after random changes of index files, the downloaded files are the same', async (t) => {
  for (let seed = 1; seed <= 8; seed++) {
    const lot = numbers(seed)
    const base = await temporary(t)
    const [source, channel] = [join(base, 'source'), new Channel()]
    await mkdir(source)
    const some = (): Buffer =>
      Buffer.alloc(
        Math.floor(lot() * 3) * Math.floor(lot() * INLINE_BYTES_MAX),
        `${Math.floor(lot() * 1000)}`,
      )
    for (let round = 0; round < 6; round++) {
      for (let change = 0; change < 4; change++) {
        const path = join(source, lot() < 0.5 ? 'logs' : '', `file-${Math.floor(lot() * 4)}`)
        await mkdir(dirname(path), { recursive: true })
        const choice = lot()
        if (choice < 0.5) await appendFile(path, some())
        else {
          await rm(path, { force: true })
          if (choice < 0.8) await writeFile(path, some())
        }
      }
      if (lot() < 0.3) await channel.publish('one', source, true)
      await channel.publish('one', source)
      const target = join(base, `target-${round}`)
      await mkdir(target)
      await channel.fetch('one', target)
      t.deepEqual(await treeOf(target), await treeOf(source), `seed ${seed}, round ${round}`)
    }
  }
})

test('only new bytes of a grown file are sent, and nothing of an unchanged file', async (t) => {
  const [source, channel] = [await temporary(t), new Channel()]
  await writeFile(join(source, 'log'), Buffer.alloc(3 * INLINE_BYTES_MAX, 'a'))
  t.is(await channel.publish('one', source), 3 * INLINE_BYTES_MAX)
  await appendFile(join(source, 'log'), 'news')
  t.is(await channel.publish('one', source), 4)
  t.is(await channel.publish('one', source), 0)
  // Another file with the same bytes, as after a restart or in a copy.
  const copy = join(await temporary(t), 'copy')
  await cp(source, copy, { recursive: true })
  t.is(await channel.publish('one', copy), 0)
})

test('a missing or damaged part is reported with its object, and names outside the directory are refused', async (t) => {
  const [source, target, channel] = [await temporary(t), await temporary(t), new Channel()]
  await writeFile(join(source, 'log'), Buffer.alloc(2 * INLINE_BYTES_MAX, 'a'))
  await channel.publish('one', source)
  const [key, bytes] = [...channel.store.objects][0]!
  const damaged = Buffer.from(bytes)
  damaged[7]! ^= 1
  channel.store.objects.set(key, damaged)
  const told = await t.throwsAsync(channel.fetch('one', target), { instanceOf: DamagedPartError })
  t.regex(told.message, /0-log\.0-524288 is damaged: a part of the file log$/)
  channel.store.objects.delete(key)
  const missing = await t.throwsAsync(channel.fetch('one', target), { instanceOf: DamagedPartError })
  t.regex(missing.message, /is missing/)
  for (const name of ['../log', '/log', 'a/../../log', '..', 'a\\b', 'C:log', '.', ''])
    await t.throwsAsync(
      fetchFiles(
        { present: new Map(), files: new Map([[name, []]]) },
        target,
        async () => null,
        () => undefined,
      ),
      { instanceOf: DamagedPartError },
      name,
    )
  t.deepEqual(await readdir(join(target, '..')).then((names) => names.includes('log')), false)
})

for (const { name, open, needs } of testedEngines) {
  testNeeding(needs)(`${name}: a downloaded index answers like its source`, async (t) => {
    const engine = await TestEngine.start(t, open)
    const channel = new Channel()
    const vector = (id: number): readonly number[] => [Math.sin(id), Math.cos(id)]
    await engine.configure('things', {
      filterableAttributes: ['n'],
      embedders: { own: { source: 'userProvided', dimensions: 2 } },
    })
    const sent: number[] = []
    for (let round = 0; round < 12; round++) {
      const documents = Array.from({ length: 40 }, (_, at) => ({
        id: round * 30 + at,
        n: round,
        t: `word${at} round${round} ${'filler '.repeat(30)}`,
        _vectors: { own: vector(at + round) },
      }))
      await engine.put('things', ...documents)
      if (round === 8) await engine.engine.compact('things')
      const copy = join(engine.directory, `copy-${round}`)
      await engine.snapshot('things', copy)
      sent.push(await channel.publish('things', copy))
      await rm(copy, { recursive: true })
    }
    t.log(`bytes sent for each commit: ${sent.join(', ')}`)
    await channel.fetch('things', join(engine.directory, 'indexes/made'))
    await engine.reopen()
    const asked = [
      { q: 'word7 round3', limit: 50, showRankingScore: true },
      { q: 'wrod12', filter: 'n > 4', facets: ['n'] },
      { q: '', vector: vector(5), hybrid: { embedder: 'own', semanticRatio: 1 }, limit: 10 },
    ]
    for (const body of asked) {
      const answer = async (index: string) => {
        const { hits, facetDistribution } = await engine.search(index, body)
        t.true(hits.length > 0)
        return { hits, facetDistribution }
      }
      t.deepEqual(await answer('made'), await answer('things'))
    }
    t.deepEqual(await engine.engine.lastCommit('made'), await engine.engine.lastCommit('things'))
    await engine.put('made', { id: 'later', t: 'unmistakable', _vectors: { own: null } })
    t.deepEqual(await engine.idsFor('made', 'unmistakable'), ['later'])
  })
}
