/** Instances that are sent to a bucket and restored from it. */
import { join } from 'node:path'
import type { ExecutionContext } from 'ava'
import { type Engine, encodeRequest } from '../../ts/engine/index.js'
import { connect, Log, type ObjectStore, restoreInstance, Shipper } from '../../ts/replication/index.js'
import { type OpenedTasks, type OutgoingChanges, openTasks, type TasksSetup } from '../../ts/tasks/index.js'
import { completeRequest } from '../support/engine.js'
import type { TestedEngine } from '../support/engines.js'
import { quiet } from '../tasks/test-queue.js'

const never = new AbortController().signal
const repeating = { wait: async () => undefined, onRetry: () => undefined }

export interface Instance {
  readonly directory: string
  readonly engine: Engine
  readonly opened: OpenedTasks
  close(): Promise<void>
}

/** Opens an instance. It is closed when the test ends. */
export async function instance(
  t: ExecutionContext,
  { open }: TestedEngine,
  directory: string,
  setup: Partial<TasksSetup> = { keepsChanges: true },
): Promise<Instance> {
  const engine = (await open(join(directory, 'indexes'))) as Engine
  const opened = await openTasks({ directory, engine, log: quiet, ...setup })
  let closed: Promise<void> | null = null
  const close = () => {
    closed ??= opened.close().then(() => engine.close())
    return closed
  }
  t.teardown(close)
  return { directory, engine, opened, close }
}

/**
 * Takes over the log in a bucket for an instance. Returns the log, its writer and the shipper.
 * @param aheadBytes see `Shipper`
 */
export async function shipping(
  { engine, opened, directory }: Instance,
  store: ObjectStore,
  outgoing: OutgoingChanges = opened.outgoing,
  aheadBytes?: number,
) {
  const log = new Log({ store, ...repeating })
  const instanceUid = '00000000-0000-4000-8000-000000000000'
  const claimant = {
    ...{ instanceUid, address: null, outgoing, takesOver: true },
    ...{ engine: engine.kind, version: '0.0.0' },
  }
  const { writer, state, fence, base } = await connect({ log, store, repeating }, claimant, never)
  const shipper = new Shipper({
    ...{ outgoing, engine, store, repeating, log, writer, state, fence, base, instanceUid },
    indexes: () => opened.tasks.indexes(),
    scratch: join(directory, 'outgoing'),
    ...(aheadBytes !== undefined && { aheadBytes }),
  })
  return { log, writer, shipper, store }
}

export type Shipping = Awaited<ReturnType<typeof shipping>>

/** Sends everything, including changes that were not synced yet. */
export async function shipAll({ opened }: Instance, { shipper }: Pick<Shipping, 'shipper'>): Promise<void> {
  await opened.instance.putValue('end', true)
  while (await shipper.ship(never));
  await shipper.checkpointIdle()
}

/** Makes a checkpoint, up to where it waits for changes to be sent. */
export async function makeCheckpoint({ shipper }: Pick<Shipping, 'shipper'>): Promise<void> {
  let failed: Error | null = null
  await shipper.checkpointIdle()
  await shipper.beginCheckpoint(never, (failure) => {
    failed = failure
  })
  await shipper.checkpointIdle()
  if (failed !== null) throw failed
}

export const restoredFrom = async (store: ObjectStore, directory: string): Promise<void> =>
  void (await restoreInstance(
    {
      ...{ log: new Log({ store, ...repeating }), store, repeating, directory },
      ...{ until: null, progress: () => undefined },
    },
    never,
  ))

/** Hits of a search in an index. */
export async function hitsOf({ engine, opened }: Instance, uid: string, q = ''): Promise<unknown> {
  const id = opened.tasks.index(uid)?.id
  if (id === undefined) throw new Error(`there is no index ${uid}`)
  const body = completeRequest({ indexUid: uid, q, limit: 50, showRankingScore: true })
  const { hits } = JSON.parse(Buffer.from((await engine.search(id, encodeRequest(body))).body).toString())
  return hits
}

/** All answers about tasks and indexes. */
export async function answersOf(asked: Instance): Promise<Record<string, unknown>> {
  const { engine, opened } = asked
  const paging = { from: null, limit: 1000, reverse: false }
  const answers: Record<string, unknown> = {
    tasks: await opened.tasks.list({}, paging),
    batches: await opened.tasks.batches({}, paging),
    indexes: opened.tasks.indexes(),
  }
  for (const { uid, id } of opened.tasks.indexes()) {
    for (const q of ['', 'word3', 'wrod5']) answers[`${uid}, ${q}`] = await hitsOf(asked, uid, q)
    answers[`settings of ${uid}`] = await engine.settings(id)
  }
  return answers
}
