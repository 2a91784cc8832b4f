/**
 * Which documents must be embedded before the batch can be committed? Nothing is embedded here.
 *
 * Source: vectors §2.10, §4.
 *  1. A want is noted while operations are carried out, and lasts until the batch ends or the client says
 *     otherwise.
 *  2. Of several wants for one document the first names what its vectors were made of.
 */
import { ownValue } from '../../../parse/index.js'
import type { IndexSettings } from '../../../settings/index.js'
import type { Rendering, WorkItem, WorkPage } from '../../engine.js'
import { WORK_BYTES_MAX, WORK_ITEMS_MAX } from '../limits.js'
import type { DocumentVectors } from './set.js'

/** What a document's vectors were made of: its bytes, and the settings that they were shown under. */
export interface Before {
  readonly source: Uint8Array
  readonly settings: IndexSettings
}

/** Why a document has to be looked at; `before` null: its vectors are made anew whatever it was. */
export interface Want {
  readonly before: Before | null
}

/** What of the two is wanted of one document, `earlier` first. */
export const bothWants = (earlier: Want | undefined, later: Want): Want =>
  earlier === undefined || later.before === null ? later : earlier

/** Wants of one embedder, by docid. */
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

/** The work of a batch in pages. */
export class PendingEmbeddings {
  private readonly steps: readonly Step[]
  private readonly settings: IndexSettings
  private readonly documentOf: (docid: number) => { readonly id: string; readonly source: Uint8Array }

  /**
   * @param settings those after the batch
   * @param documentOf documents after the batch
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

  /** Documents to look at, once for each embedder. */
  get size(): number {
    return this.steps.length
  }

  /** The page that begins at `from`, null after the last one. */
  page(from: string | null): WorkPage | null {
    const start = Number(from ?? '0')
    const first = this.steps[start]
    if (first === undefined) return null
    const shownAs = (step: Step): IndexSettings => step.want.before?.settings ?? this.settings
    const items: WorkItem[] = []
    let bytes = 0
    let at = start
    for (; at < this.steps.length && items.length < WORK_ITEMS_MAX && bytes < WORK_BYTES_MAX; at++) {
      const step = this.steps[at]!
      if (step.work !== first.work || shownAs(step) !== shownAs(first)) break
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
      before: rendering(shownAs(first), name),
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
