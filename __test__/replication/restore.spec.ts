/** An instance that is sent to a bucket while it is written to, and made from the bucket elsewhere. */
import { join } from 'node:path'
import type { ExecutionContext } from 'ava'
import { Log } from '../../ts/bucket/index.js'
import type { Engine } from '../../ts/engine/index.js'
import { encodeRequest } from '../../ts/engine/index.js'
import { LogState, restoreInstance, Shipper } from '../../ts/replication/index.js'
import { type OpenedTasks, openTasks, type TaskSummary } from '../../ts/tasks/index.js'
import { memoryStore } from '../bucket/memory-store.js'
import { completeRequest } from '../support/engine.js'
import { type TestedEngine, testedEngines } from '../support/engines.js'
import { numbers } from '../support/numbers.js'
import { testNeeding } from '../support/test-needing.js'
import {
  add,
  deleteIds,
  drop,
  forget,
  quiet,
  settings,
  swap,
  temporaryDirectory,
  update,
} from '../tasks/test-queue.js'

const never = new AbortController().signal

interface Instance {
  readonly directory: string
  readonly engine: Engine
  readonly opened: OpenedTasks
}

async function instance(
  t: ExecutionContext,
  { open }: TestedEngine,
  directory: string,
  keepsChanges: boolean,
): Promise<Instance> {
  const engine = (await open(join(directory, 'indexes'))) as Engine
  const opened = await openTasks({ directory, engine, log: quiet, keepsChanges })
  t.teardown(async () => {
    await opened.close()
    await engine.close()
  })
  return { directory, engine, opened }
}

/** Everything that is answered of tasks and indexes. */
async function answersOf({ engine, opened: { tasks } }: Instance): Promise<Record<string, unknown>> {
  const paging = { from: null, limit: 1000, reverse: false }
  const answers: Record<string, unknown> = {
    tasks: await tasks.list({}, paging),
    batches: await tasks.batches({}, paging),
    indexes: tasks.indexes(),
  }
  for (const { uid, id } of tasks.indexes()) {
    for (const q of ['', 'word3', 'wrod5']) {
      const body = completeRequest({ indexUid: uid, q, limit: 50, showRankingScore: true })
      const found = JSON.parse(Buffer.from((await engine.search(id, encodeRequest(body))).body).toString())
      answers[`${uid}, ${q}`] = { hits: found.hits, total: found.estimatedTotalHits }
    }
    answers[`settings of ${uid}`] = await engine.settings(id)
  }
  return answers
}

for (const tested of testedEngines) {
  testNeeding(tested.needs)(
    `${tested.name}: an instance that is made from its bucket has the same tasks, and its indexes answer alike`,
    async (t) => {
      t.timeout(240_000)
      const directory = await temporaryDirectory(t)
      const source = await instance(t, tested, join(directory, 'source'), true)
      const { tasks } = source.opened
      const store = memoryStore()
      const log = new Log({ store, wait: async () => undefined, onRetry: () => undefined })
      const candidate = {
        ...{ instanceUid: '00000000-0000-4000-8000-000000000000', address: null, next: 0 },
        apply: async () => undefined,
        restore: async () => 0,
      }
      const shipper = new Shipper({
        outgoing: source.opened.outgoing,
        engine: source.engine,
        isLive: (id) => tasks.indexes().some((index) => index.id === id),
        store,
        writer: await log.takeOver(candidate, never),
        state: new LogState(),
        scratch: join(directory, 'source/outgoing'),
      })
      source.opened.start()
      const lot = numbers(7)
      const names = ['left', 'right', 'third'] as const
      const name = (): string => names[Math.floor(lot() * names.length)]!
      const choices: readonly (() => Promise<TaskSummary>)[] = [
        ...Array.from({ length: 5 }, () => () => {
          const first = Math.floor(lot() * 40)
          const documents = Array.from({ length: 20 }, (_, at) => ({
            id: first + at,
            t: `word${first + at} of ${lot()}`,
          }))
          return add(tasks, name(), documents)
        }),
        () => tasks.enqueue(deleteIds(name(), '3', '5', '8')),
        () => tasks.enqueue(settings(name(), { searchableAttributes: lot() < 0.5 ? ['t'] : ['*'] })),
        () => tasks.enqueue(swap(['left', 'right'])),
        () => tasks.enqueue(lot() < 0.3 ? drop('third') : update('third', { primaryKey: 'id' })),
        () => tasks.enqueue(forget('?uids=1,2', 1, 2)),
      ]
      let last = -1
      for (let move = 0; move < 60; move++) {
        last = (await choices[Math.floor(lot() * choices.length)]!()).taskUid
        if (lot() < 0.4) await shipper.ship(never)
      }
      await tasks.wait(last, null, { waitMs: 120_000 })
      // What the process has not synced is held back until something is.
      await source.opened.instance.putValue('end', true)
      while (await shipper.ship(never));
      t.log(
        `${store.objects.size} objects, ${[...store.objects.values()].reduce((sum, { length }) => sum + length, 0)} bytes`,
      )

      const restored = join(directory, 'restored')
      await restoreInstance({ log, store, directory: restored, signal: never })
      const wanted = await answersOf(source)
      t.true(tasks.indexes().length > 1)
      t.deepEqual(await answersOf(await instance(t, tested, restored, false)), wanted)
    },
  )
}
