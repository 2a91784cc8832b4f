/**
 * Interrupted copies of a bucket. Rules:
 * 1. A complete copy stays readable as it was until the new one is complete, no matter where fetching stops.
 * 2. The next opening completes an interrupted copy, which then equals its source.
 * 3. A copy with damaged files is fetched again and reports the damage.
 */
import { cp, mkdtemp, open, readdir, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import {
  type CopySetup,
  Follower,
  Log,
  type ObjectStore,
  prepareCopy,
  recordKey,
  restoreInstance,
  resumeCopy,
} from '../../../ts/replication/index.js'
import { indexesPath, replicaStorePath } from '../../../ts/tasks/index.js'
import { answersOf, instance, makeCheckpoint, shipAll, shipping } from '../../replication/instance-world.js'
import { fallback, type TestedEngine, testedEngines } from '../../support/engines.js'
import { memoryStore } from '../../support/memory-store.js'
import { testNeeding } from '../../support/test-needing.js'
import { add, drop, ended, settings, temporaryDirectory } from '../../tasks/test-queue.js'

const never = new AbortController().signal
const repeating = { wait: async () => undefined, onRetry: () => undefined }

const setupOf = (store: ObjectStore, directory: string): CopySetup => ({
  ...{ log: new Log({ store, ...repeating }), store, repeating, directory },
  ...{ until: null, progress: () => undefined },
})

/** A store that aborts a copy at a read. @param isCut returns true for the key of this read */
function cuttingStore(store: ObjectStore, isCut: (key: string) => boolean) {
  const cut = new AbortController()
  const cutting: ObjectStore = {
    ...store,
    async get(key, options) {
      if (!isCut(key)) return store.get(key, options)
      cut.abort(new Error('the copy was cut short'))
      throw cut.signal.reason as Error
    },
  }
  return { store: cutting, signal: cut.signal }
}

const restore = (store: ObjectStore, directory: string, signal = never) =>
  restoreInstance(setupOf(store, directory), signal)

/** Opens a byte copy of the directory and returns its answers. The directory does not change. */
async function answersIn(t: ExecutionContext, tested: TestedEngine, directory: string) {
  const opened = join(await temporaryDirectory(t), 'opened')
  await cp(directory, opened, { recursive: true })
  const served = await instance(t, tested, opened, {})
  const answers = await answersOf(served)
  await served.close()
  return answers
}

/** A bucket with two checkpoints and records behind each, and a copy of what it held at the first one. */
interface World {
  readonly objects: ReadonlyMap<string, Buffer>
  readonly copied: string
  /** Answers of the copy (`before`) and of the source (`after`). */
  readonly before: Record<string, unknown>
  readonly after: Record<string, unknown>
}

async function madeWorld(t: ExecutionContext, tested: TestedEngine, directory: string): Promise<World> {
  const memory = memoryStore()
  const source = await instance(t, tested, join(directory, 'source'))
  const { tasks } = source.opened
  const sent = await shipping(source, memory)
  source.opened.start()
  const done = async ({ taskUid }: { readonly taskUid: number }) => void (await ended(tasks, taskUid))
  const write = async (id: number) => {
    await done(await add(tasks, 'a', [{ id, t: `word${id}` }]))
    await done(await add(tasks, `b${id}`, [{ id }]))
  }
  await write(0)
  await shipAll(source, sent)
  await makeCheckpoint(sent)
  await write(1)
  await shipAll(source, sent)
  const copied = join(directory, 'copied')
  await restore(memory, copied)
  const before = await answersIn(t, tested, copied)
  await write(2)
  await done(await tasks.enqueue(settings('a', { searchableAttributes: ['t'] })))
  await done(await tasks.enqueue(drop('b0')))
  await shipAll(source, sent)
  await makeCheckpoint(sent)
  await write(3)
  await shipAll(source, sent)
  return { objects: memory.objects, copied, before, after: await answersOf(source) }
}

const worlds = new Map<string, Promise<World>>()
const worldsDirectory = mkdtemp(join(tmpdir(), 'siftd-copies-'))
test.after.always(async () => rm(await worldsDirectory, { recursive: true }))

/** Copies of a bucket and a directory for one test. The originals are made once. */
async function world(t: ExecutionContext, tested: TestedEngine) {
  t.timeout(240_000)
  const making = worlds.get(tested.name) ?? madeWorld(t, tested, join(await worldsDirectory, tested.name))
  worlds.set(tested.name, making)
  const { objects, copied: original, before, after } = await making
  const directory = await temporaryDirectory(t)
  const memory = memoryStore()
  for (const [key, bytes] of objects) memory.objects.set(key, bytes)
  const copied = join(directory, 'copied')
  await cp(original, copied, { recursive: true })
  return { directory, memory, copied, before, after }
}

type Answers = Awaited<ReturnType<typeof answersIn>>

/** Asserts former tasks. Documents may be newer, since a served copy gets new index files before rows. */
function asBefore(
  t: ExecutionContext,
  found: Answers,
  { before, after }: Pick<World, 'before' | 'after'>,
  label: string,
): void {
  for (const [asked, answer] of Object.entries(found)) {
    const isOfRows = ['tasks', 'batches', 'indexes'].includes(asked)
    const wanted = !isOfRows && JSON.stringify(answer) === JSON.stringify(after[asked]) ? after : before
    t.deepEqual(answer, wanted[asked], `${label}: ${asked}`)
  }
  t.deepEqual(Object.keys(found), Object.keys(before), label)
}

const isOfStore = (key: string): boolean => /^image\/.*\d-\d+$/.test(key)
const isOfFiles = (key: string): boolean => /^image\/.*-parts$/.test(key) || key.startsWith('index/')

const cuts: readonly (readonly [name: string, isCut: () => (key: string) => boolean])[] = [
  ['while the task store is fetched', () => isOfStore],
  ['while files of indexes are fetched', () => isOfFiles],
  ['while the log is read', () => (key) => key.startsWith('log/')],
]

for (const tested of testedEngines) {
  const runs = testNeeding(tested.needs)

  runs(
    `${tested.name}: an interrupted copy answers as before and is completed by the next opening`,
    async (t) => {
      const { directory, memory, copied, ...answers } = await world(t, tested)
      for (const [name, isCut] of cuts) {
        const older = join(directory, 'older')
        await cp(copied, older, { recursive: true })
        const cut = cuttingStore(memory, isCut())
        await t.throwsAsync(restore(cut.store, older, cut.signal), { message: /cut short|aborted/ }, name)
        asBefore(t, await answersIn(t, tested, older), answers, name)
        await restore(memory, older)
        t.deepEqual(await answersIn(t, tested, older), answers.after, name)
        t.deepEqual(
          (await readdir(older)).filter((entry) => entry.startsWith('next-store')),
          [],
          name,
        )

        await rm(older, { recursive: true })
      }
      const first = join(directory, 'first')
      const cut = cuttingStore(memory, isOfStore)
      await t.throwsAsync(restore(cut.store, first, cut.signal))
      await restore(memory, first)
      t.deepEqual(await answersIn(t, tested, first), answers.after)
    },
  )

  runs(
    `${tested.name}: fetching ahead does not change the answers of a served copy, and is not repeated`,
    async (t) => {
      const { memory, copied, before, after } = await world(t, tested)
      await prepareCopy(setupOf(memory, copied), never)
      t.deepEqual(await answersIn(t, tested, copied), before)
      const cut = cuttingStore(memory, isOfStore)
      await restore(cut.store, copied, cut.signal)
      t.deepEqual(await answersIn(t, tested, copied), after)
    },
  )
}

const damages: readonly (readonly [name: string, damage: (copied: string) => Promise<void>])[] = [
  ['a task store that ends early', (copied) => truncate(replicaStorePath(copied), 6_000)],
  ['an empty task store', (copied) => truncate(replicaStorePath(copied), 0)],
  ['a task store with other bytes', (copied) => writeFile(replicaStorePath(copied), 'x'.repeat(8192))],
  ['a page of the task store with other bytes', (copied) => flip(replicaStorePath(copied), 9_000)],
  ['no task store', (copied) => rm(replicaStorePath(copied))],
  [
    'files of indexes that end early',
    async (copied) => {
      for (const path of await filesBelow(indexesPath(copied))) await truncate(path, 3)
    },
  ],
  ['no indexes', (copied) => rm(indexesPath(copied), { recursive: true })],
]

async function flip(path: string, at: number): Promise<void> {
  const file = await open(path, 'r+')
  try {
    const { buffer } = await file.read(Buffer.alloc(64), 0, 64, at)
    await file.write(
      buffer.map((byte) => byte ^ 0xff),
      0,
      64,
      at,
    )
  } finally {
    await file.close()
  }
}

async function filesBelow(directory: string): Promise<readonly string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
}

for (const [name, damage] of damages)
  test.serial(`a copy with ${name} becomes its source again`, async (t) => {
    const { memory, copied, after } = await world(t, fallback)
    await damage(copied)
    await restore(memory, copied)
    t.deepEqual(await answersIn(t, fallback, copied), after)
  })

test.serial('a copy of another log is reported and fetched again', async (t) => {
  const { memory, copied } = await world(t, fallback)
  const other = memoryStore()
  const source = await instance(t, fallback, await temporaryDirectory(t))
  const sent = await shipping(source, other)
  source.opened.start()
  await ended(source.opened.tasks, (await add(source.opened.tasks, 'other', [{ id: 1 }])).taskUid)
  await shipAll(source, sent)
  await makeCheckpoint(sent)
  await shipAll(source, sent)
  await restore(memory, copied)
  const told: string[] = []
  const setup = { ...setupOf(other, copied), onDamaged: (error: Error) => void told.push(error.message) }
  await restoreInstance(setup, never)
  t.is(told.length, 1)
  t.deepEqual(await answersIn(t, fallback, copied), await answersOf(source))
})

test.serial('a set-aside copy provides files for its successor and does not change', async (t) => {
  const { directory, memory, copied, after } = await world(t, fallback)
  await restore(memory, copied)
  const kept = await answersIn(t, fallback, copied)
  const cut = cuttingStore(memory, isOfFiles)
  const made = join(directory, 'made')
  await restoreInstance({ ...setupOf(cut.store, made), seed: copied }, cut.signal)
  t.deepEqual(await answersIn(t, fallback, made), after)
  t.deepEqual(await answersIn(t, fallback, copied), kept)
})

test.serial(
  'a follower whose next records are gone serves until the newest checkpoint is fetched',
  async (t) => {
    const { memory, copied, before, after } = await world(t, fallback)
    const newest = Math.max(...seqsOf(memory, 'base/'))
    for (const seq of seqsOf(memory, 'log/').filter((seq) => seq > 0 && seq <= newest))
      memory.objects.delete(recordKey(seq))
    let isFailing = true
    const store: ObjectStore = {
      ...memory,
      async get(key, options) {
        if (!isFailing || !isOfStore(key)) return memory.get(key, options)
        isFailing = false
        throw new Error('this read fails once')
      },
    }
    const setup = setupOf(store, copied)
    const unused = () => t.fail('the copy that is served changed')
    const failures: unknown[] = []
    await new Promise<void>((resolve) => {
      const follower = new Follower({
        open: (signal) => resumeCopy(setup, newest - 1, signal),
        prepare: (signal) => prepareCopy(setup, signal),
        copy: null,
        target: { adopt: async () => unused(), apply: async () => unused(), drop: async () => unused() },
        newestCheckpoint: (signal) => setup.log.newestCheckpoint(signal),
        intervalMs: 1,
        log: {
          info: () => undefined,
          warn: () => undefined,
          error: (facts) => void failures.push((facts as { readonly err: Error }).err.message),
        },
        onTruncated: resolve,
      })
      t.teardown(() => follower.stop())
      follower.start()
    })
    t.deepEqual(failures, ['this read fails once'])
    t.deepEqual(await answersIn(t, fallback, copied), before)
    await restore(memory, copied)
    t.deepEqual(await answersIn(t, fallback, copied), after)
  },
)

const seqsOf = ({ objects }: ReturnType<typeof memoryStore>, prefix: string): readonly number[] =>
  [...objects.keys()].filter((key) => key.startsWith(prefix)).map((key) => Number(key.slice(prefix.length)))
