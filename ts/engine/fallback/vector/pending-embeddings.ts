/**
 * Lists the documents to embed before a batch can be committed. The embedding itself happens elsewhere.
 *
 * Source: vectors §2.10, §4.
 * 1. A want is recorded while operations are applied. It lasts until the batch ends or the client sends vectors.
 * 2. Of several wants for a document, the first holds the source of its current vectors.
 */
import { ownValue } from '../../../parse/index.js'
import type { IndexSettings } from '../../../settings/index.js'
import type { Rendering, WorkItem, WorkPage } from '../../batches.js'
import { WORK_BYTES_MAX, WORK_ITEMS_MAX } from '../limits.js'
import type { DocumentVectors } from './set.js'

/** Source of the current vectors of a document: its bytes, and the settings it was rendered with. */
interface Before {
  readonly source: Uint8Array
  readonly settings: IndexSettings
}

/** Reason to check a document; `before` null: always embed it again. */
export interface Want {
  readonly before: Before | null
}

/** Merges two wants for a document. */
export const mergedWant = (earlier: Want | undefined, later: Want): Want =>
  earlier === undefined || later.before === null ? later : earlier

/** Wants of an embedder, by docid. */
export interface EmbedderPending {
  readonly name: string
  readonly wants: ReadonlyMap<number, Want>
  state(docid: number): DocumentVectors | undefined
}

interface Step {
  readonly work: EmbedderPending
  readonly docid: number
  readonly want: Want
}

/** The documents to embed for a batch, in pages. */
export class PendingEmbeddings {
  private readonly steps: readonly Step[]
  private readonly settings: IndexSettings
  private readonly documentOf: (docid: number) => { readonly id: string; readonly source: Uint8Array }

  /**
   * @param settings settings after the batch
   * @param documentOf returns documents after the batch
   */
  constructor(
    works: Iterable<EmbedderPending>,
    settings: IndexSettings,
    documentOf: (docid: number) => { readonly id: string; readonly source: Uint8Array },
  ) {
    this.settings = settings
    this.documentOf = documentOf
    this.steps = [...works].flatMap((work) =>
      [...work.wants].sort(([a], [b]) => a - b).map(([docid, want]) => ({ work, docid, want })),
    )
  }

  /** Number of documents to check, summed over embedders. */
  get size(): number {
    return this.steps.length
  }

  /** Returns the page that starts at `from`, null after the last page. */
  page(from: string | null): WorkPage | null {
    const start = Number(from ?? '0')
    const first = this.steps[start]
    if (first === undefined) return null
    const settingsOf = (step: Step): IndexSettings => step.want.before?.settings ?? this.settings
    const items: WorkItem[] = []
    let bytes = 0
    let at = start
    for (; at < this.steps.length && items.length < WORK_ITEMS_MAX && bytes < WORK_BYTES_MAX; at++) {
      const step = this.steps[at]!
      if (step.work !== first.work || settingsOf(step) !== settingsOf(first)) break
      const { id, source } = this.documentOf(step.docid)
      const before = step.want.before?.source ?? null
      bytes += source.length + (before?.length ?? 0)
      items.push({
        docid: step.docid,
        id,
        document: parsed(source),
        before: before === null ? null : parsed(before),
        keeps: (step.work.state(step.docid)?.fragments ?? null) !== null,
      })
    }
    const { name } = first.work
    return {
      embedder: name,
      after: rendering(this.settings, name),
      before: rendering(settingsOf(first), name),
      items,
      next: String(at),
    }
  }
}

function rendering({ embedders, searchableAttributes }: IndexSettings, name: string): Rendering {
  return { fields: ownValue(embedders, name) ?? {}, searchableAttributes }
}

const parsed = (source: Uint8Array): Readonly<Record<string, unknown>> =>
  JSON.parse(Buffer.from(source).toString()) as Readonly<Record<string, unknown>>
