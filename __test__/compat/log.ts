/** A small log in a bucket, with data directories of its leader and of a copy, and what later versions must find in it. */
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { ExecutionContext } from 'ava'
import { LOG_FORMAT } from '../../ts/replication/index.js'
import {
  hitsOf,
  type Instance,
  instance,
  makeCheckpoint,
  restoredFrom,
  shipAll,
  shipping,
} from '../replication/instance-world.js'
import type { TestedEngine } from '../support/engines.js'
import { namesBelow } from '../support/follower.js'
import { memoryStore } from '../support/memory-store.js'
import { add, create, drop, ended, settings } from '../tasks/test-queue.js'

export const folders = { bucket: 'bucket', leader: 'leader', copy: 'copy' } as const
export const ANSWERS = 'answers.json'

export const nameOf = (format: number, engine: TestedEngine['name']): string => `log-${format}-${engine}`

/** Documents without their scores, and tasks without their times. */
export async function contentOf(asked: Instance): Promise<unknown> {
  const { tasks } = asked.opened
  const documents: Record<string, unknown> = {}
  for (const { uid } of tasks.indexes())
    documents[uid] = ((await hitsOf(asked, uid)) as readonly Record<string, unknown>[]).map(
      ({ _rankingScore, ...document }) => document,
    )
  const { results } = await tasks.list({}, { from: null, limit: 100, reverse: true })
  return {
    documents,
    tasks: results.map(({ uid, type, status, indexUid }) => ({ uid, type, status, indexUid })),
  }
}

/** Loads a stored bucket into memory. */
export async function bucketIn(folder: string): Promise<ReturnType<typeof memoryStore>> {
  const store = memoryStore()
  for (const name of await namesBelow(folder)) store.objects.set(name, await readFile(join(folder, name)))
  return store
}

/** Version of the files of the first index in a data directory. */
export async function indexFormatIn(
  directory: string,
  engine: TestedEngine['name'],
): Promise<number | string> {
  const indexes = join(directory, 'indexes')
  const [id] = (await readdir(indexes)).filter((name) => /^[0-9a-f-]{36}$/.test(name)).sort()
  const index = join(indexes, String(id))
  const names = (await readdir(index)).filter((name) => name.startsWith('commit')).sort()
  const bytes = await readFile(join(index, names.at(-1)!))
  return engine === 'native' ? bytes.readUInt32LE(8) : bytes.toString('latin1', 0, 8)
}

/** Writes the log of this version, with index files of an engine, into a directory below `home`. @returns its path */
export async function writeLog(home: string, tested: TestedEngine): Promise<string> {
  const work = await mkdtemp(join(tmpdir(), 'siftd-compat-'))
  const path = (name: keyof typeof folders): string => join(work, folders[name])
  const ends: (() => unknown)[] = []
  const t = { teardown: (end: () => unknown) => void ends.push(end) } as unknown as ExecutionContext
  try {
    const store = memoryStore()
    const open = () => instance(t, tested, path('leader'))
    let source = await open()
    source.opened.start()
    let sent = await shipping(source, store)
    const done = async ({ taskUid }: { readonly taskUid: number }) =>
      void (await ended(source.opened.tasks, taskUid))
    await done(
      await source.opened.tasks.enqueue(
        settings('films', { filterableAttributes: ['year'], stopWords: ['of'] }),
      ),
    )
    await done(
      await add(source.opened.tasks, 'films', [{ id: 1, title: 'Winter of the Cranes', year: 1971 }]),
    )
    await done(await source.opened.tasks.enqueue(create('gone')))
    await shipAll(source, sent)
    await makeCheckpoint(sent)
    await shipAll(source, sent)
    await restoredFrom(store, path('copy'))
    await done(await add(source.opened.tasks, 'films', [{ id: 2, title: 'The Glass Vessel' }]))
    await done(await source.opened.tasks.enqueue(drop('gone')))
    await shipAll(source, sent)
    await source.close()
    source = await open()
    source.opened.start()
    sent = await shipping(source, store)
    await done(await add(source.opened.tasks, 'books', [{ id: 'a', title: 'Solaris' }]))
    await shipAll(source, sent)
    const answers = await contentOf(source)
    await source.close()
    for (const [key, bytes] of store.objects) {
      await mkdir(dirname(join(path('bucket'), key)), { recursive: true })
      await writeFile(join(path('bucket'), key), bytes)
    }
    await writeFile(join(work, ANSWERS), `${JSON.stringify(answers, null, 1)}\n`)
    for (const name of ['leader', 'copy'] as const) {
      // The next start creates this file of random bytes again.
      await rm(join(path(name), 'tasks', 'reserve'), { force: true })
      await rm(join(path(name), 'outgoing'), { recursive: true, force: true })
    }
    const target = join(home, nameOf(LOG_FORMAT, tested.name))
    await rm(target, { recursive: true, force: true })
    await cp(work, target, { recursive: true })
    return target
  } finally {
    for (const end of ends) await end()
    await rm(work, { recursive: true, force: true })
  }
}
