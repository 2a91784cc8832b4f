import type { PendingTask } from '../store/records.js'
import { type BatchContext, Interrupted, type Run } from './batch-context.js'
import { exportedIndexes } from './export.js'
import { contentOf, damagedOnes, effects, succeeded, type Unfinished } from './outcomes.js'

/** Copies indexes one after another. A failure does not undo what was sent before. */
export async function exportIndexes(task: PendingTask, run: Run, context: BatchContext): Promise<Unfinished> {
  const { engine, catalogue, exportIndex, log } = context
  const content = contentOf(task, 'export')
  const { url, apiKey, payloadBytesMax } = content
  const target = { url, apiKey, payloadBytesMax, signal: run.signal }
  const sent: [string, object][] = []
  const leftOut = new Map<string, string>()
  try {
    const works = exportedIndexes(content, catalogue.rows())
    for (const [finished, work] of works.entries()) {
      run.step(`exporting ${work.index.uid}`, { finished, total: works.length })
      const { filter, overrideSettings } = work
      try {
        const matched = await run.keepOut([work.index.uid], () => exportIndex(engine, work, target))
        sent.push([work.index.uid, { filter, overrideSettings, matched_documents: matched }])
      } catch (error) {
        const damage = engine.damage(work.index.id)
        if (damage === null) throw error
        leftOut.set(work.index.uid, damage)
        log.warn({ indexUid: work.index.uid, damage }, 'a damaged index is not exported')
      }
    }
  } catch (error) {
    throw run.signal.aborted ? new Interrupted() : error
  }
  const details = { indexes: Object.fromEntries(sent), ...damagedOnes(leftOut) }
  return effects({ outcomes: [succeeded(task, details)] })
}
