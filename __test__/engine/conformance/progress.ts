/**
 * Progress of batches, through the `Engine` interface only.
 * 1. Documents are counted against a total; the count never decreases within a step.
 * 2. Steps appear in order. A waiting, abandoned or finished batch has no progress.
 */
import type { Operation, Step } from '../../../ts/engine/batches.js'
import type { TestedEngine } from '../../support/engines.js'
import { claimsOf } from './claims.js'

const index = 'i'
const order = ['computing document changes', 'indexing', 'committing']

export function progress(tested: TestedEngine): void {
  const claim = claimsOf(tested)

  claim('progress of a running batch counts its documents and names its steps in order', async (t, test) => {
    const { engine } = test
    let seen = new Set<string>()
    // On a fast machine the batch may end before the first call; the next round has more documents.
    for (let count = 2_000, uid = 1; seen.size < 2; count *= 2, uid++) {
      const documents = Array.from({ length: count }, (_, id) => ({
        id,
        t: `${uid} word ${id % 1000} and more`,
      }))
      const operations = [
        { taskUid: uid, ...(await test.upload(documents, { documents: count })) },
      ] as Operation[]
      const shown: (readonly Step[])[] = []
      const watched = async <T>(work: Promise<T>): Promise<T> => {
        let isDone = false
        const done = work.finally(() => {
          isDone = true
        })
        while (!isDone) {
          const steps = await engine.progress(index)
          if (steps !== null) shown.push(steps)
        }
        return done
      }
      const prepared = await watched(engine.prepare(index, { uid, indexUid: 'things', operations }))
      t.is(await engine.progress(index), null, 'a batch that waits for its commit does nothing')
      await watched(engine.commit(prepared, []))
      t.is(await engine.progress(index), null, 'a batch that is done does nothing')
      seen = inOrder(shown, count)
    }
    t.deepEqual([...seen], order.slice(0, 2))

    /** Steps observed while they were processing documents. */
    function inOrder(shown: readonly (readonly Step[])[], total: number): Set<string> {
      const middles = new Set<string>()
      let before = { place: 0, finished: 0 }
      for (const [step, document, ...rest] of shown) {
        const place = order.indexOf(step?.currentStep ?? '')
        const finished = document?.finished ?? 0
        t.deepEqual(rest, [])
        t.true(place > before.place || (place === before.place && finished >= before.finished))
        if (document !== undefined) t.like(document, { currentStep: 'document', total })
        if (step !== undefined && finished > 0 && finished < total) middles.add(step.currentStep)
        before = { place, finished }
      }
      return middles
    }
  })

  claim('progress is null for an abandoned batch and for an unknown index', async (t, test) => {
    t.is(await test.engine.progress('nowhere'), null)
    const operations = [{ taskUid: 1, ...(await test.upload([{ id: 1 }])) }] as Operation[]
    const prepared = await test.engine.prepare(index, { uid: 1, indexUid: 'things', operations })
    await test.engine.abandon(prepared)
    t.is(await test.engine.progress(index), null)
    await t.throwsAsync(test.engine.commit(prepared, []))
    t.is(await test.engine.progress(index), null)
  })
}
