import { type Engine, type Pin, pageRequest } from '../../engine/index.js'
import type { PendingTask } from '../store/records.js'
import { type BatchContext, Interrupted, type Run } from './batch-context.js'
import { exportedIndexes, type IndexExport } from './export.js'
import { contentOf, damagedDetails, effects, succeeded, type Unfinished } from './outcomes.js'

/**
 * Copies indexes to another instance, one after another. Each is pinned when its turn comes, so that writes continue
 * while the other instance responds. A failure does not undo earlier transfers.
 */
export async function exportIndexes(task: PendingTask, run: Run, context: BatchContext): Promise<Unfinished> {
  const { engine, catalogue, exportIndex, log } = context
  const content = contentOf(task, 'export')
  const { url, apiKey, payloadBytesMax, withSecrets = false } = content
  const { features = { foreignKeys: false, chatCompletions: false } } = content
  const target = { url, apiKey, payloadBytesMax, withSecrets, features, signal: run.signal }
  const sent: [string, object][] = []
  const leftOut = new Map<string, string>()
  try {
    const works = exportedIndexes(content, catalogue.rows())
    for (const [finished, work] of works.entries()) {
      run.step(`exporting ${work.index.uid}`, { finished, total: works.length })
      const { filter, overrideSettings } = work
      try {
        const matched = await pinned(work, run, engine, (pin) => exportIndex({ engine, pin }, work, target))
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
  const details = { indexes: Object.fromEntries(sent), ...damagedDetails(leftOut) }
  return effects({ outcomes: [succeeded(task, details)] })
}

async function pinned<T>(
  { index, filter }: IndexExport,
  run: Run,
  engine: Engine,
  read: (pin: Pin) => Promise<T>,
): Promise<T> {
  const listing = pageRequest(index.uid, filter)
  const pin = await run.holdCommits([index.uid], () => engine.pin(index.id, listing))
  try {
    return await read(pin)
  } finally {
    await engine.unpin(pin)
  }
}
