/** Prepares, embeds and commits one batch of an index. Each step can be interrupted. */
import type { SpooledVectors } from '../../embedding/index.js'
import type { BatchReport, Operation, Prepared, VectorPage } from '../../engine/index.js'
import { type BatchContext, Interrupted, type Run } from './batch-context.js'
import { vectorsFor } from './embedding.js'

/** Records a directory before it is created, so that the next start can remove it after a crash. */
export async function announce(id: string, { store, log }: BatchContext): Promise<void> {
  try {
    await store.call('announce', [id])
  } catch (error) {
    log.warn({ err: error, id }, 'the directory of a new index could not be recorded in advance')
  }
}

/**
 * Commits operations to an index.
 * @throws Interrupted if the batch was interrupted before the commit was durable
 */
export async function commitOf(
  id: string,
  indexUid: string,
  operations: readonly Operation[],
  run: Run,
  { engine, embedders, vectorSpool, catalogue }: BatchContext,
): Promise<BatchReport> {
  await run.released(id)
  run.step('preparing')
  run.follow(() => engine.progress(id))
  const preparing = engine.prepare(id, { uid: run.batchUid, indexUid, operations }, run.signal)
  const prepared = await interruptible(preparing)
  const spooled = prepared.work > 0 ? await vectorSpool.open(indexUid) : null
  try {
    const vectors = spooled === null ? [] : await embedded(spooled)
    await run.begun
    if (!(await run.mayCommit()) || run.signal.aborted) return giveUp()
    const report = await committed(vectors)
    await spooled?.committed()
    return report
  } finally {
    await spooled?.close()
  }

  async function committed(vectors: readonly VectorPage[]): Promise<BatchReport> {
    run.step('committing')
    run.follow(() => engine.progress(id))
    // The engine rejects a commit that it abandons before it is durable. A durable commit resolves as usual. The call may
    // run after the commit has ended. The next batch of the index waits for it, because it would stop that batch.
    const stop = () =>
      run.leave(
        id,
        engine.abandon(prepared).catch(() => undefined),
      )
    run.signal.addEventListener('abort', stop, { once: true })
    try {
      return await engine.commit(prepared, vectors)
    } catch (error) {
      // If the index is not in the catalogue yet, its directory is removed, so there is no commit to revert.
      if (catalogue.row(indexUid)?.id === id) run.commitFailed(id)
      throw run.signal.aborted ? new Interrupted() : error
    } finally {
      run.signal.removeEventListener('abort', stop)
    }
  }

  async function embedded(spooled: SpooledVectors): Promise<readonly VectorPage[]> {
    run.step('embedding')
    const { signal, requests: counts } = run
    try {
      return await vectorsFor(prepared, { engine, embedders, spooled, signal, counts, count: run.count })
    } catch (error) {
      if (signal.aborted) giveUp()
      await engine.abandon(prepared)
      throw error
    }
  }

  function giveUp(): never {
    // Only a successful preparation must be abandoned. The engine rolls back a failed one.
    const undone = preparing.then(
      (left: Prepared) => engine.abandon(left),
      () => undefined,
    )
    run.leave(id, undone)
    throw new Interrupted()
  }

  async function interruptible<T>(work: Promise<T>): Promise<T> {
    let stop: () => void = () => undefined
    const interrupted = new Promise<null>((resolve) => {
      stop = () => resolve(null)
      run.signal.addEventListener('abort', stop, { once: true })
      if (run.signal.aborted) stop()
    })
    try {
      const done = await Promise.race([work.then((value) => ({ value })), interrupted])
      if (done === null) {
        // The batch ends as interrupted, so a later rejection of `work` is ignored. `giveUp` waits for its end.
        work.catch(() => undefined)
        return giveUp()
      }
      return done.value
    } finally {
      run.signal.removeEventListener('abort', stop)
    }
  }
}
