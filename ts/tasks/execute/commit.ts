/** One commit of the engine, given up if the batch is interrupted. */
import type { BatchReport, Operation, Prepared, VectorPage } from '../../engine/index.js'
import { type BatchContext, Interrupted, type Run } from './batch-context.js'
import { vectorsFor } from './embedding.js'

/** Says that a directory is about to be made: without that, what a crash leaves of it is set aside, not removed. */
export async function announce(id: string, { store, log }: BatchContext): Promise<void> {
  try {
    await store.call('announce', [id])
  } catch (error) {
    log.warn({ err: error, id }, 'the directory of a new index could not be announced')
  }
}

/** One commit of the engine, given up if the run is interrupted before it begins. */
export async function commitOf(
  id: string,
  indexUid: string,
  operations: readonly Operation[],
  run: Run,
  { engine, embedders, catalogue }: BatchContext,
): Promise<BatchReport> {
  await run.released(id)
  run.step('preparing')
  run.follow(() => engine.progress(id))
  const preparing = engine.prepare(id, { uid: run.batchUid, indexUid, operations }, run.signal)
  const prepared = await interruptible(preparing)
  const vectors = prepared.work > 0 ? await embedded() : []
  if (run.signal.aborted) return giveUp()
  run.step('committing')
  run.follow(() => engine.progress(id))
  // The engine stops a commit that is not yet past the point of no return; then it fails.
  // The commit under way tells how it ended, whether the request to stop reached it or not.
  const stop = () => void engine.abandon(prepared).catch(() => undefined)
  run.signal.addEventListener('abort', stop, { once: true })
  try {
    return await engine.commit(prepared, vectors)
  } catch (error) {
    // The directory of an index that never came into being goes as a whole.
    if (catalogue.row(indexUid)?.id === id) run.commitFailed(id)
    throw run.signal.aborted ? new Interrupted() : error
  } finally {
    run.signal.removeEventListener('abort', stop)
  }

  async function embedded(): Promise<readonly VectorPage[]> {
    run.step('embedding')
    const { signal, requests: counts } = run
    try {
      return await vectorsFor(prepared, { engine, embedders, signal, counts, count: run.count })
    } catch (error) {
      if (signal.aborted) giveUp()
      await engine.abandon(prepared)
      throw error
    }
  }

  function giveUp(): never {
    // A preparation that failed, of its interruption or otherwise, has left nothing.
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
        // The interruption is the outcome; `giveUp` waits for the work itself.
        work.catch(() => undefined)
        return giveUp()
      }
      return done.value
    } finally {
      run.signal.removeEventListener('abort', stop)
    }
  }
}
