/**
 * A copy made during writes is consistent: its indexes have the effects of all tasks that it shows as succeeded, and of
 * no other task.
 */
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { tempDir } from '../../backup/archives.js'
import { place } from '../../backup/import.js'
import { startServer, type TestServer, testEngine } from '../../support/server.js'

const uids = ['ash', 'birch', 'cedar', 'elm'] as const
const WRITERS = 3
/** Milliseconds between two writes of a writer, to leave processor time for the copying. */
const PAUSE_MS = 20
const IDS = 40
const ROUNDS = 2
/** Least number of succeeded tasks before each copy. */
const SUCCEEDED_MIN = 25

/** A write, and its effect on an index by document id. The task's metadata holds its name. */
interface Write {
  send(server: TestServer, uid: string, n: number, query: string): Promise<{ readonly status: number }>
  apply(documents: Map<number, number>, n: number): void
}

const writes: Readonly<Record<string, Write>> = {
  add: {
    send: (server, uid, n, query) =>
      server.post(`/indexes/${uid}/documents?primaryKey=id&${query}`, [{ id: n % IDS, n }]),
    apply: (documents, n) => documents.set(n % IDS, n),
  },
  addMany: {
    send: (server, uid, n, query) =>
      server.put(
        `/indexes/${uid}/documents?primaryKey=id&${query}`,
        Array.from({ length: 5 }, (_, at) => ({ id: IDS + ((n + at) % IDS), n })),
      ),
    apply(documents, n) {
      for (let at = 0; at < 5; at++) documents.set(IDS + ((n + at) % IDS), n)
    },
  },
  refused: {
    send: (server, uid, n, query) =>
      server.post(`/indexes/${uid}/documents?${query}`, [{ id: 'not valid', n }]),
    apply: () => undefined,
  },
  remove: {
    send: (server, uid, n, query) => server.delete(`/indexes/${uid}/documents/${n % IDS}?${query}`),
    apply: (documents, n) => documents.delete(n % IDS),
  },
  clear: {
    send: (server, uid, _n, query) => server.delete(`/indexes/${uid}/documents?${query}`),
    apply: (documents) => documents.clear(),
  },
  // Earlier tasks have already been applied to their index, so nothing is left to do here.
  swap: {
    send: (server, uid, n, query) =>
      server.post(`/swap-indexes?${query}`, [
        { indexes: [uid, uids[(uids.indexOf(uid as 'ash') + 1 + (n % 3)) % 4]] },
      ]),
    apply: () => undefined,
  },
}

/** Returns the kind of write number `n`: most add documents, few remove everything. */
const nameOf = (n: number): string => {
  if (n % 61 === 60) return 'clear'
  if (n % 23 === 22) return 'swap'
  return ['add', 'addMany', 'add', 'remove', 'addMany', 'refused', 'add'][n % 7] ?? 'add'
}

/** Writes until it is stopped. Resolves to the number of writes. */
function keepWriting(server: TestServer) {
  const state = { isStopped: false, next: 0 }
  const writer = async (): Promise<void> => {
    while (!state.isStopped) {
      const n = state.next++
      const name = nameOf(n)
      await writes[name]?.send(server, uids[n % uids.length] ?? '', n, `customMetadata=${name}:${n}`)
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    }
  }
  const done = Promise.all(Array.from({ length: WRITERS }, writer))
  return async (): Promise<number> => {
    state.isStopped = true
    await done
    return state.next
  }
}

interface TaskFacts {
  readonly uid: number
  readonly status: string
  readonly indexUid: string | null
  readonly batchUid: number | null
  readonly customMetadata?: string
}

/** Lists tasks or batches, oldest first. */
async function listed<T>(server: TestServer, path: string): Promise<readonly T[]> {
  const all: T[] = []
  for (let from: number | null = 0; from !== null; ) {
    const { body } = await server.get(`${path}?limit=1000&reverse=true&from=${from}`)
    all.push(...(body.results as readonly unknown[] as readonly T[]))
    from = (body.next ?? null) as number | null
  }
  return all
}

/** @returns number of succeeded tasks, and of waiting tasks */
async function checkOnePoint(t: ExecutionContext, copy: TestServer) {
  const tasks = await listed<TaskFacts>(copy, '/tasks')
  const expected = new Map(uids.map((uid) => [uid as string, new Map<number, number>()]))
  for (const { status, indexUid, customMetadata } of tasks) {
    t.not(status, 'processing')
    if (status !== 'succeeded' || customMetadata === undefined) continue
    const [name = '', n] = customMetadata.split(':')
    writes[name]?.apply(expected.get(indexUid ?? '') ?? new Map(), Number(n))
  }
  for (const [uid, documents] of expected) {
    const { status, body } = await copy.get(`/indexes/${uid}/documents?limit=1000`)
    const found = status === 404 ? [] : body.results
    t.deepEqual(
      found.map(({ id, n }) => `${id}: ${n}`).sort(),
      [...documents].map(([id, n]) => `${id}: ${n}`).sort(),
      `${uid}: documents against succeeded tasks`,
    )
    if (status === 404) continue
    t.is((await copy.get(`/indexes/${uid}/stats`)).body.numberOfDocuments, documents.size)
    const search = await copy.post(`/indexes/${uid}/search`, { q: '', limit: 1000 })
    t.is(search.body.hits.length, documents.size)
  }
  const ended = tasks.filter(({ batchUid }) => batchUid !== null)
  const batches = await listed<{ readonly uid: number }>(copy, '/batches')
  t.deepEqual(
    [...new Set(ended.map(({ batchUid }) => batchUid))].sort(),
    batches.map(({ uid }) => uid).sort(),
  )
  const count = (status: string): number => tasks.filter((one) => one.status === status).length
  return { succeeded: count('succeeded'), enqueued: count('enqueued') }
}

async function untilSucceeded(server: TestServer, count: number): Promise<void> {
  while ((await server.get('/tasks?statuses=succeeded&limit=1')).body.total < count)
    await new Promise((resolve) => setTimeout(resolve, 20))
}

for (const [kind, what, limits] of [
  ['snapshot', 'one task a batch', { tasksMax: 1 }],
  ['snapshot', 'many tasks a batch', {}],
  ['dump', 'many tasks a batch', {}],
] as const)
  test.serial(`${testEngine}: a ${kind} is consistent while clients write, with ${what}`, async (t) => {
    t.timeout(600_000)
    const archives = await tempDir(t)
    const dumpDirectory = join(archives, 'dumps')
    const snapshots = { directory: join(archives, 'snapshots'), keptMax: 1 }
    const server = await startServer(t, { limits, dumpDirectory, snapshots })
    const stop = keepWriting(server)
    const counts = []
    for (let round = 0; round < ROUNDS; round++) {
      await untilSucceeded(server, SUCCEEDED_MIN * (round + 1))
      const task = await server.settle(t, server.post(`/${kind}s`))
      t.is(task.status, 'succeeded', JSON.stringify(task))
      const archive =
        kind === 'dump'
          ? join(dumpDirectory, `${task.details.dumpUid}.dump`)
          : join(snapshots.directory, 'data.ms.snapshot')
      const { directory, start } = await place(t)
      await start(archive, { kind })
      // Waiting tasks of the copy keep waiting, so that it stays unchanged.
      const copy = await startServer(t, { directory, limits: { tasksMax: 0 } })
      counts.push(await checkOnePoint(t, copy))
      await copy.stop()
    }
    const written = await stop()
    t.true(counts.every(({ succeeded }, round) => succeeded >= SUCCEEDED_MIN * (round + 1)))
    t.true(written >= ROUNDS)
    t.log(`${written} writes`, counts)
  })
