/** Replays the commits of a log into documents, vectors and settings. */
import { defaultIndexSettings, type IndexSettings } from '../../settings/index.js'
import type { BatchReport } from '../batches.js'
import type { DictionaryIds } from './analysis/words/index.js'
import type { StoredDocument } from './index-data/index-data.js'
import type { Pacer } from './indexing/pacer.js'
import type { Commit } from './store/log.js'
import { VectorReplay, type VectorTail } from './vector/index.js'

/** The state after the replayed commits. */
export class Replayed {
  readonly documents = new Map<number, StoredDocument>()
  readonly vectors: VectorReplay | VectorTail
  settings: IndexSettings | null = null
  primaryKey: string | null = null
  dictionaries: DictionaryIds = {}
  report: BatchReport | null = null
  /** True if a commit since `mark` cut all documents into words again. */
  reanalyses = false
  /** Changes since `mark`; null if `mark` was not called. */
  private since: { cleared: boolean; readonly docids: Set<number> } | null = null
  /** The state at the call of `mark`. */
  marked: {
    readonly documents: ReadonlyMap<number, StoredDocument>
    readonly settings: IndexSettings
    readonly dictionaries: DictionaryIds
  } | null = null

  constructor(vectors: VectorReplay | VectorTail = new VectorReplay()) {
    this.vectors = vectors
  }

  async apply({ record, documents, vectors }: Commit, pacer: Pacer): Promise<void> {
    if (record.cleared) {
      this.documents.clear()
      this.since?.docids.clear()
      if (this.since !== null) this.since.cleared = true
    }
    for (const docid of record.deleted) {
      this.documents.delete(docid)
      this.since?.docids.add(docid)
    }
    this.vectors.forget(record.dropped ?? [], record.deleted, record.cleared)
    for (const payload of vectors) {
      this.vectors.read(payload)
      if (pacer.due()) await pacer.pause()
    }
    // Copy the document: a slice would keep the memory of the whole frame alive.
    for (const { docid, id, source } of documents) {
      this.documents.set(docid, { id, source: Buffer.from(source) })
      this.since?.docids.add(docid)
      if (pacer.due()) await pacer.pause()
    }
    this.settings = record.settings ?? this.settings
    this.primaryKey = record.primaryKey
    this.dictionaries = record.dictionaries ?? {}
    this.report = record.report
    if (record.reanalyses === true) this.reanalyses = true
  }

  mark(): void {
    this.reanalyses = false
    this.marked = {
      documents: new Map(this.documents),
      settings: this.settings ?? defaultIndexSettings,
      dictionaries: this.dictionaries,
    }
    this.since = { cleared: false, docids: new Set() }
  }

  /** Changes since the mark, in ascending docid order; all documents if there is no mark. */
  get changes(): { readonly cleared: boolean; readonly changes: Map<number, StoredDocument | null> } {
    const docids = this.since === null ? this.documents.keys() : this.since.docids
    const ascending = Uint32Array.from(docids).sort()
    const changes = new Map<number, StoredDocument | null>()
    for (const docid of ascending) changes.set(docid, this.documents.get(docid) ?? null)
    return { cleared: this.since?.cleared ?? true, changes }
  }
}
