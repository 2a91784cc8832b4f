/** An instance that is sent to a bucket during writes and restored elsewhere. */
import { join } from 'node:path'
import { decodeRecord, recordKey } from '../../../ts/replication/index.js'
import type { TaskSummary, Tasks } from '../../../ts/tasks/index.js'
import {
  answersOf,
  instance,
  makeCheckpoint,
  restoredFrom,
  shipAll,
  shipping,
} from '../../replication/instance-world.js'
import { fallback, testedEngines } from '../../support/engines.js'
import { memoryStore } from '../../support/memory-store.js'
import { numbers } from '../../support/numbers.js'
import { startStore, storeAt, storeServer } from '../../support/store-servers.js'
import { testNeeding } from '../../support/test-needing.js'
import {
  add,
  deleteIds,
  drop,
  forget,
  settings,
  swap,
  temporaryDirectory,
  update,
} from '../../tasks/test-queue.js'

const never = new AbortController().signal

/** Random writes of all kinds. */
class Writes {
  readonly #lot = numbers(7)
  /** Uid of the last task. */
  last = -1

  async write(tasks: Tasks): Promise<void> {
    const lot = this.#lot
    const name = (): string => ['left', 'right', 'third'][Math.floor(lot() * 3)]!
    const choices: readonly (() => Promise<TaskSummary>)[] = [
      ...Array.from({ length: 5 }, () => () => {
        const first = Math.floor(lot() * 40)
        const document = (at: number) => ({ id: first + at, t: `word${first + at} of ${lot()}` })
        return add(
          tasks,
          name(),
          Array.from({ length: 20 }, (_, at) => document(at)),
        )
      }),
      () => tasks.enqueue(deleteIds(name(), '3', '5', '8')),
      () => tasks.enqueue(settings(name(), { searchableAttributes: lot() < 0.5 ? ['t'] : ['*'] })),
      () => tasks.enqueue(swap(['left', 'right'])),
      () => tasks.enqueue(lot() < 0.3 ? drop('third') : update('third', { primaryKey: 'id' })),
      () => tasks.enqueue(forget('?uids=1,2', 1, 2)),
    ]
    if (lot() < 0.05) await tasks.compact()
    this.last = (await choices[Math.floor(lot() * choices.length)]!()).taskUid
  }

  /** Returns true with this probability. */
  happens(chance: number): boolean {
    return this.#lot() < chance
  }

  async settle(tasks: Tasks): Promise<void> {
    await tasks.wait(this.last, null, { waitMs: 120_000 })
  }
}

for (const tested of testedEngines) {
  const runs = testNeeding(tested.needs)

  runs(`${tested.name}: an instance restored from its log has the same tasks and answers`, async (t) => {
    t.timeout(240_000)
    const directory = await temporaryDirectory(t)
    const source = await instance(t, tested, join(directory, 'source'))
    const { tasks } = source.opened
    const store = memoryStore()
    const { shipper } = await shipping(source, store)
    source.opened.start()
    const writes = new Writes()
    for (let move = 0; move < 60; move++) {
      await writes.write(tasks)
      if (writes.happens(0.4)) await shipper.ship(never)
    }
    await writes.settle(tasks)
    await shipAll(source, { shipper })

    const restored = join(directory, 'restored')
    await restoredFrom(store, restored)
    t.true(tasks.indexes().length > 1)
    t.deepEqual(await answersOf(await instance(t, tested, restored, {})), await answersOf(source))
  })

  runs(`${tested.name}: an instance older than its bucket is restored from a checkpoint`, async (t) => {
    t.timeout(240_000)
    const directory = await temporaryDirectory(t)
    const before = await instance(t, tested, join(directory, 'source'), {})
    before.opened.start()
    const writes = new Writes()
    for (let move = 0; move < 30; move++) await writes.write(before.opened.tasks)
    await writes.settle(before.opened.tasks)
    await before.close()

    const source = await instance(t, tested, join(directory, 'source'))
    const { tasks } = source.opened
    const store = memoryStore()
    const { shipper } = await shipping(source, store)
    source.opened.start()
    await makeCheckpoint({ shipper })
    for (let move = 0; move < 40; move++) {
      await writes.write(tasks)
      if (writes.happens(0.4)) await shipper.ship(never)
      if (move === 25) await makeCheckpoint({ shipper })
    }
    await writes.settle(tasks)
    await shipAll(source, { shipper })

    const checkpoints = [...store.objects.keys()].filter((key) => key.startsWith('base/')).sort()
    t.is(checkpoints.length, 2)
    // Readers need only fences of the records that the newest checkpoint covers.
    const covered = recordKey(Number(checkpoints[1]!.slice('base/'.length)))
    for (const [key, bytes] of store.objects)
      if (key.startsWith('log/') && key <= covered && decodeRecord(bytes).kind === 'changes')
        store.objects.delete(key)
    const restored = join(directory, 'restored')
    await restoredFrom(store, restored)
    t.true(tasks.indexes().length > 1)
    t.deepEqual(await answersOf(await instance(t, tested, restored, {})), await answersOf(source))

    store.objects.get(
      [...store.objects.keys()].filter((key) => /^image\/\d+\/\d+-0$/.test(key)).at(-1)!,
    )![9]! ^= 1
    const damaged = restoredFrom(store, join(directory, 'damaged'))
    t.regex(
      (await t.throwsAsync(damaged)).message,
      /the object image\/\d+\/\d+-0 is damaged: a part of the task store/,
    )
  })
}

for (const name of ['gofakes3', 'versitygw'] as const)
  testNeeding([storeServer(name)])(`${name}: an instance is restored from this store`, async (t) => {
    t.timeout(600_000)
    const directory = await temporaryDirectory(t)
    const source = await instance(t, fallback, join(directory, 'source'))
    const { tasks } = source.opened
    const store = storeAt(t, await startStore(t, name))
    const { shipper } = await shipping(source, store)
    source.opened.start()
    const writes = new Writes()
    for (let move = 0; move < 20; move++) {
      await writes.write(tasks)
      if (move === 10) await makeCheckpoint({ shipper })
      if (writes.happens(0.4)) await shipper.ship(never)
    }
    await writes.settle(tasks)
    await shipAll(source, { shipper })
    const restored = join(directory, 'restored')
    await restoredFrom(store, restored)
    t.deepEqual(await answersOf(await instance(t, fallback, restored, {})), await answersOf(source))
  })
