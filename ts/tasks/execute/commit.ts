/** Prepares, embeds and commits one batch of an index; an interruption ends each of these. */
import type { PaidVectors } from '../../embedders/index.js'
import type { BatchReport, Operation, Prepared, VectorPage } from '../../engine/index.js'
import { type BatchContext, Interrupted, type Run } from './batch-context.js'
import { vectorsFor } from './embedding.js'

/** Notes that a directory is about to be made, so that a start after a crash may remove it. */
export async function announce(id: string, { store, log }: BatchContext): Promise<void> {
  try {
    await store.call('announce', [id])
  } catch (error) {
    log.warn({ err: error, id }, 'the directory of a new index could not be announced')
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
  { engine, embedders, paidVectors, catalogue }: BatchContext,
): Promise<BatchReport> {
  await run.released(id)
  run.step('preparing')
  run.follow(() => engine.progress(id))
  const preparing = engine.prepare(id, { uid: run.batchUid, indexUid, operations }, run.signal)
  const prepared = await interruptible(preparing)
  const paid = prepared.work > 0 ? await paidVectors.open(indexUid) : null
  try {
    const vectors = paid === null ? [] : await embedded(paid)
    await run.begun
    if (!(await run.mayCommit()) || run.signal.aborted) return giveUp()
    const report = await committed(vectors)
    await paid?.committed()
    return report
  } finally {
    await paid?.close()
  }

  async function committed(vectors: readonly VectorPage[]): Promise<BatchReport> {
    run.step('committing')
    run.follow(() => engine.progress(id))
    // The engine gives up a commit that is not yet durable, which then rejects. One that is durable resolves as usual.
    const stop = () => void engine.abandon(prepared).catch(() => undefined)
    run.signal.addEventListener('abort', stop, { once: true })
    try {
      return await engine.commit(prepared, vectors)
    } catch (error) {
      // If the index is not in the catalogue yet, its whole directory is removed, and no commit has to be taken back.
      if (catalogue.row(indexUid)?.id === id) run.commitFailed(id)
      throw run.signal.aborted ? new Interrupted() : error
    } finally {
      run.signal.removeEventListener('abort', stop)
    }
  }

  async function embedded(paid: PaidVectors): Promise<readonly VectorPage[]> {
    run.step('embedding')
    const { signal, requests: counts } = run
    try {
      return await vectorsFor(prepared, { engine, embedders, paid, signal, counts, count: run.count })
    } catch (error) {
      if (signal.aborted) giveUp()
      await engine.abandon(prepared)
      throw error
    }
  }

  function giveUp(): never {
    // Only a preparation that succeeds has to be abandoned; the engine undoes one that fails.
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
        // The batch ends as interrupted, so a later rejection of `work` is of no interest; `giveUp` waits for its end.
        work.catch(() => undefined)
        return giveUp()
      }
      return done.value
    } finally {
      run.signal.removeEventListener('abort', stop)
    }
  }
}
