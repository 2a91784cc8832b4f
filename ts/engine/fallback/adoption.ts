/** Plans the update of an open index after another process has changed its log. */
import { defaultIndexSettings } from '../../settings/index.js'
import type { IndexData, StoredDocument } from './index-data/index-data.js'
import type { Pacer } from './indexing/pacer.js'
import { planIndexes } from './indexing/plan.js'
import type { BatchPlan } from './indexing/prepare.js'
import { Replayed } from './replayed.js'
import { DamagedFileError } from './store/frames.js'
import { type CommitLog, type LogPosition, MissingCommitError } from './store/log.js'
import { embeddersOf, VectorTail } from './vector/index.js'

/** A newer state of the log of an index. */
interface Adoption {
  readonly log: CommitLog
  /** True if the log was only appended to. */
  readonly isGrown: boolean
  /** Plan that brings the index to its newest commit; null: no new commits. */
  readonly plan: BatchPlan | null
}

/**
 * Compares `data`, the state at the newest commit of `log`, with the current file. Changes nothing. `data` must not
 * change until the plan is applied.
 *
 * 1. If the log was only appended to, the new commits are read.
 * 2. If the log was replaced, it is read completely, and differing documents count as changed: a rewritten log mostly
 *    holds the same documents.
 * @param until commit to bring the index to, in a continued log; absent: the newest
 * @throws DamagedFileError
 * @throws MissingCommitError if the log does not continue to the commit `until`
 */
export async function adoptionOf(
  data: IndexData,
  log: CommitLog,
  pacer: Pacer,
  until?: LogPosition,
): Promise<Adoption> {
  const tail = new Replayed(new VectorTail(data.vectors, embeddersOf(data.settings)))
  tail.mark()
  const complete = new Replayed()
  let isGrown = false
  const newest = await log.successor((isContinued) => {
    isGrown = isContinued
    // A copy of an index is read again instead.
    if (!isContinued && until !== undefined) throw new MissingCommitError(`${log.path} was rewritten`)
    return (commit) => (isContinued ? tail : complete).apply(commit, pacer)
  }, until)
  try {
    if (isGrown)
      return { log: newest, isGrown, plan: await planOf(data, tail, tail.changes, data.settings, pacer) }
    if (complete.report === null) throw new DamagedFileError(log.path, 'it holds no commit')
    const changes = await differences(data, complete.documents, pacer)
    const plan = await planOf(data, complete, { cleared: false, changes }, defaultIndexSettings, pacer)
    return { log: newest, isGrown, plan }
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
  const { report, primaryKey, dictionaries, vectors, reanalyses } = replayed
  if (report === null) return null
  const settings = replayed.settings ?? settingsBefore
  return {
    report,
    primaryKey,
    settings,
    dictionaries,
    reanalyses,
    cleared,
    changes,
    indexes: await planIndexes(data, { settings, dictionaries, cleared, changes, reanalyses }, pacer),
    vectors: vectors.result(embeddersOf(settings)),
    droppedEmbedders: [],
  }
}

/** Documents that differ from the index, in ascending docid order; null: the document was deleted. */
async function differences(
  data: IndexData,
  documents: ReadonlyMap<number, StoredDocument>,
  pacer: Pacer,
): Promise<Map<number, StoredDocument | null>> {
  const docids = new Set([...documents.keys(), ...data.docids.values()])
  const changes = new Map<number, StoredDocument | null>()
  for (const docid of Uint32Array.from(docids).sort()) {
    const document = documents.get(docid)
    if (!isEqual(data.documents[docid], document)) changes.set(docid, document ?? null)
    if (pacer.due()) await pacer.pause()
  }
  return changes
}

const isEqual = (known: StoredDocument | undefined, document: StoredDocument | undefined): boolean =>
  known !== undefined &&
  document !== undefined &&
  known.id === document.id &&
  Buffer.compare(known.source, document.source) === 0
