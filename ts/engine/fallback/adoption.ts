/** Here is an open index, whose log another process has written on: what has to change in memory? */
import { defaultIndexSettings } from '../../settings/index.js'
import type { IndexData, StoredDocument } from './index-data/index-data.js'
import type { Pacer } from './indexing/pacer.js'
import { planIndexes } from './indexing/plan.js'
import type { BatchPlan } from './indexing/prepare.js'
import { Replayed } from './replayed.js'
import { DamagedFileError } from './store/frames.js'
import type { CommitLog } from './store/log.js'
import { embeddersOf, VectorTail } from './vector/index.js'

/** A newer log of an index. */
export interface Adoption {
  readonly log: CommitLog
  /** What brings the index to its newest commit; null: nothing is new. */
  readonly plan: BatchPlan | null
}

/**
 * Compares `data`, which is of the newest commit of `log`, with what lies there now. Nothing is changed, and `data` must not
 * change until the plan is applied.
 *
 * 1. Of a log that has only grown, the new commits are read.
 * 2. One that took its place is read whole, and what differs from the index counts as changed: a log that was written anew
 *    mostly says the same.
 * @throws DamagedFileError
 */
export async function adoptionOf(data: IndexData, log: CommitLog, pacer: Pacer): Promise<Adoption> {
  const tail = new Replayed(new VectorTail(data.vectors, embeddersOf(data.settings)))
  tail.mark()
  const whole = new Replayed()
  let isGrown = false
  const newest = await log.successor((isContinued) => {
    isGrown = isContinued
    return (commit) => (isContinued ? tail : whole).apply(commit, pacer)
  })
  try {
    if (isGrown) return { log: newest, plan: await planOf(data, tail, tail.changes, data.settings, pacer) }
    if (whole.report === null) throw new DamagedFileError(log.path, 'it holds no commit')
    const changes = await differences(data, whole.documents, pacer)
    const plan = await planOf(data, whole, { cleared: false, changes }, defaultIndexSettings, pacer)
    return { log: newest, plan }
  } catch (error) {
    await newest.close()
    throw error
  }
}

async function planOf(
  data: IndexData,
  replayed: Replayed,
  { cleared, changes }: Replayed['changes'],
  settingsBefore: IndexData['settings'],
  pacer: Pacer,
): Promise<BatchPlan | null> {
  const { report, primaryKey, vectors } = replayed
  if (report === null) return null
  const settings = replayed.settings ?? settingsBefore
  return {
    report,
    primaryKey,
    settings,
    cleared,
    changes,
    indexes: await planIndexes(data, { settings, cleared, changes }, pacer),
    vectors: vectors.result(embeddersOf(settings)),
    droppedEmbedders: [],
  }
}

/** Documents that are not as the index has them, ascending docids; null: they are gone. */
async function differences(
  data: IndexData,
  documents: ReadonlyMap<number, StoredDocument>,
  pacer: Pacer,
): Promise<Map<number, StoredDocument | null>> {
  const docids = new Set([...documents.keys(), ...data.docids.values()])
  const changes = new Map<number, StoredDocument | null>()
  for (const docid of Uint32Array.from(docids).sort()) {
    const document = documents.get(docid)
    if (!isSame(data.documents[docid], document)) changes.set(docid, document ?? null)
    if (pacer.due()) await pacer.pause()
  }
  return changes
}

const isSame = (known: StoredDocument | undefined, document: StoredDocument | undefined): boolean =>
  known !== undefined &&
  document !== undefined &&
  known.id === document.id &&
  Buffer.compare(known.source, document.source) === 0
