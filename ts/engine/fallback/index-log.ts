/** Log records of an index, and the rewriting of its log without deleted and replaced data. */
import type { DictionaryIds } from './analysis/words/index.js'
import type { IndexData, StoredDocument } from './index-data/index-data.js'
import type { BatchPlan } from './indexing/prepare.js'
import type { OpenIndex } from './open-index.js'
import type { Commit } from './store/log.js'
import { allVectorPayloads, vectorPayloads } from './vector/index.js'

/**
 * The log is rewritten once it is this many times larger than its live documents and vectors, but not below the
 * minimum.
 */
const REWRITE_FACTOR = 3
const REWRITE_BYTES_MIN = 16 * 1024 * 1024

/** Rewrites the log once most of it is obsolete. */
export async function rewriteIfDue(open: OpenIndex): Promise<void> {
  const { data, log } = open
  let needed = data.sourceBytes
  for (const set of data.vectors.values()) needed += set.bytes
  if (log.bytes < REWRITE_BYTES_MIN || log.bytes < needed * REWRITE_FACTOR) return
  try {
    await rewriteLog(open)
  } catch (error) {
    // The commit is valid even if the rewrite fails. The next commit tries again.
    open.report('log_rewrite', log.path, error)
  }
}

/** Rewrites the log as a single commit with the current state. */
export async function rewriteLog(open: OpenIndex): Promise<void> {
  const rewritten = await open.log.rewritten(currentState(open.data), (directory, error) =>
    open.report('directory_sync', directory, error),
  )
  open.replaceLog(rewritten)
}

const recorded = (dictionaries: DictionaryIds): { dictionaries?: DictionaryIds } =>
  Object.keys(dictionaries).length === 0 ? {} : { dictionaries }

/** The log record of a prepared batch. */
export const commitOf = (plan: BatchPlan): Commit => ({
  record: {
    report: plan.report,
    primaryKey: plan.primaryKey,
    cleared: plan.cleared,
    deleted: [...plan.changes].flatMap(([docid, document]) => (document === null ? [docid] : [])),
    ...(plan.settings === null ? {} : { settings: plan.settings }),
    ...(plan.reanalyses ? { reanalyses: true as const } : {}),
    ...recorded(plan.dictionaries),
    ...(plan.droppedEmbedders.length === 0 ? {} : { dropped: plan.droppedEmbedders }),
  },
  documents: logged(plan.changes),
  vectors: vectorPayloads(plan.vectors),
})

/** The current state of an index as one log record. */
const currentState = (data: IndexData): Commit => ({
  record: {
    report: data.report!,
    primaryKey: data.primaryKey,
    settings: data.settings,
    ...recorded(data.dictionaries),
    cleared: true,
    deleted: [],
  },
  documents: logged(data.documents.entries()),
  vectors: allVectorPayloads(data.vectors),
})

function* logged(documents: Iterable<readonly [number, StoredDocument | null | undefined]>) {
  for (const [docid, document] of documents)
    if (document !== null && document !== undefined) yield { docid, id: document.id, source: document.source }
}
