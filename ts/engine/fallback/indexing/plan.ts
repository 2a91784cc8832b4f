/**
 * Plans the changes of posting lists, lengths and columns for changed documents and settings.
 *
 * Only changed documents are tokenized again, unless a setting affects tokenizing; the same applies to columns. The
 * plan contains complete lists, so applying it only swaps references.
 */
import type { IndexSettings } from '../../../settings/index.js'
import { Tokenizer } from '../analysis/tokenize.js'
import { type DictionaryIds, sameDictionaries } from '../analysis/words/index.js'
import { ColumnRows, rebuiltColumns } from '../facets/column-rows.js'
import type { RowChange } from '../facets/columns.js'
import type { Shape } from '../facets/geojson.js'
import { facetLeaves } from '../fields/flatten.js'
import {
  type ColumnIndex,
  fieldId,
  type GeoPoint,
  type IndexData,
  type StoredDocument,
  type TextIndex,
} from '../index-data/index-data.js'
import { type PostingList, PostingWriter, TermDictionary } from '../postings/postings.js'
import { DocSet } from '../store/docid-set.js'
import { type JsonObject, parseJson } from '../store/json.js'
import { costsOf } from './cost.js'
import type { Pacer } from './pacer.js'
import { TextWriter } from './text-writer.js'

/** Input of a plan, in addition to the index. */
interface DocumentChanges {
  readonly settings: IndexSettings
  /** Dictionaries that cut the texts afterwards. */
  readonly dictionaries: DictionaryIds
  readonly cleared: boolean
  /** True to cut all documents into words again, even if no setting changes. Absent: false. */
  readonly reanalyses?: boolean
  /** Ascending docids. */
  readonly changes: ReadonlyMap<number, StoredDocument | null>
}

/** The planned changes. */
export interface IndexPlan {
  readonly bound: number
  readonly tokenizer: Tokenizer
  readonly text:
    | { readonly kind: 'rebuilt'; readonly text: TextIndex }
    | {
        readonly kind: 'changed'
        readonly lists: ReadonlyMap<string, PostingList>
        readonly sorted: readonly string[]
        readonly lengths: ReadonlyMap<number, Uint16Array | undefined>
      }
  readonly columns:
    | { readonly kind: 'rebuilt'; readonly columns: ColumnIndex }
    | {
        readonly kind: 'changed'
        readonly rows: ReadonlyMap<string, readonly RowChange[]>
        readonly points: ReadonlyMap<number, GeoPoint | undefined>
        readonly shapes: ReadonlyMap<number, readonly Shape[] | undefined>
      }
  readonly fieldCounts: ReadonlyMap<string, number>
  readonly pathCounts: ReadonlyMap<string, number>
  /** True if all stored documents were processed, not only changed ones. */
  readonly rebuilt: boolean
}

const objectOf = (document: StoredDocument): JsonObject =>
  parseJson(Buffer.from(document.source).toString()) as JsonObject

/**
 * Dictionaries after a change: the installed ones if all texts are cut again, otherwise those that cut them before.
 */
export function dictionariesAfter(
  index: IndexData,
  { settings, cleared, reanalyses }: Pick<DocumentChanges, 'settings' | 'cleared' | 'reanalyses'>,
): DictionaryIds {
  const recuts =
    cleared || reanalyses === true || index.docids.size === 0 || isRecut(index.settings, settings)
  return recuts ? index.installed.ids : index.dictionaries
}

const isRecut = (before: IndexSettings, after: IndexSettings): boolean =>
  Object.values(costsOf(before, after)).includes('documents')

/** Computes everything that `change` modifies. Does not modify `index`, except for new field numbers. */
export async function planIndexes(
  index: IndexData,
  change: DocumentChanges,
  pacer: Pacer,
): Promise<IndexPlan> {
  const { settings, dictionaries, cleared, changes, reanalyses = false } = change
  const costs = Object.values(costsOf(index.settings, settings))
  const rebuildText =
    cleared ||
    reanalyses ||
    costs.includes('documents') ||
    !sameDictionaries(index.dictionaries, dictionaries)
  const rebuildColumns = cleared || costs.includes('columns')
  const tokenizer = rebuildText
    ? new Tokenizer(settings, index.installed.ofLanguages(dictionaries))
    : index.tokenizer
  const writer = new PostingWriter()
  const textWriter = new TextWriter(settings, tokenizer, (path) => fieldId(index, path))
  const oldTextWriter = rebuildText ? null : textWriter
  const removed = new DocSet(index.documents.length)
  const lengths = new Map<number, Uint16Array | undefined>()
  const rows = new ColumnRows(settings)
  const counts = new Counts(cleared ? null : index)

  const everything = rebuildText || rebuildColumns
  const documents = everything && !cleared ? Math.max(index.docids.size, changes.size) : changes.size
  pacer.progress.begin({ currentStep: 'indexing', finished: 1, total: 2 }, documents)
  for (const [docid, document] of versions(index, change, everything)) {
    pacer.progress.count()
    const changed = changes.has(docid)
    const old = changed && !cleared ? index.documents[docid] : undefined
    if (old !== undefined) {
      const object = objectOf(old)
      removed.add(docid)
      counts.add(object, -1)
      oldTextWriter?.write(object, (word) => writer.touch(word))
      if (!rebuildColumns) rows.forget(docid, index.columns)
      lengths.set(docid, undefined)
    }
    if (document !== null) {
      const object = objectOf(document)
      if (changed) counts.add(object, 1)
      if (changed || rebuildText)
        lengths.set(
          docid,
          textWriter.write(object, (word, field, position) => writer.add(word, docid, field, position)),
        )
      if (changed || rebuildColumns) rows.put(docid, object)
    }
    if (pacer.due()) await pacer.pause()
  }
  for (const path of counts.paths()) fieldId(index, path)

  const base = rebuildText ? new TermDictionary() : index.text.dictionary
  const lists = new Map<string, PostingList>()
  for (const [term, list] of writer.lists(base, removed)) {
    lists.set(term, list)
    if (pacer.due()) await pacer.pause()
  }
  const bound = boundAfter(index, change)
  const sorted = base.sortedAfter(lists)
  return {
    bound,
    tokenizer,
    text: rebuildText
      ? { kind: 'rebuilt', text: rebuiltText(base.replaced(lists, sorted), lengths) }
      : { kind: 'changed', lists, sorted, lengths },
    columns: rebuildColumns
      ? { kind: 'rebuilt', columns: rebuiltColumns(rows, bound) }
      : { kind: 'changed', rows: rows.byPath, points: rows.points, shapes: rows.shapes },
    fieldCounts: counts.topLevel,
    pathCounts: counts.allPaths,
    rebuilt: everything,
  }
}

/** Documents to process, ascending: the changed documents, or all future documents if something is rebuilt. */
function* versions(
  index: IndexData,
  { cleared, changes }: DocumentChanges,
  everything: boolean,
): Generator<[number, StoredDocument | null]> {
  if (!everything || cleared) {
    yield* changes
    return
  }
  const bound = Math.max(index.documents.length, ...lastOf(changes))
  for (let docid = 0; docid < bound; docid++) {
    const document = changes.has(docid) ? changes.get(docid) : index.documents[docid]
    if (document !== undefined) yield [docid, document]
  }
}

function lastOf(changes: ReadonlyMap<number, unknown>): number[] {
  let last = -1
  for (const docid of changes.keys()) last = Math.max(last, docid)
  return [last + 1]
}

const boundAfter = (index: IndexData, { cleared, changes }: DocumentChanges): number =>
  Math.max(cleared ? 0 : index.documents.length, ...lastOf(changes))

function rebuiltText(
  dictionary: TermDictionary,
  lengths: ReadonlyMap<number, Uint16Array | undefined>,
): TextIndex {
  const all: (Uint16Array | undefined)[] = []
  for (const [docid, pairs] of lengths) all[docid] = pairs
  return { dictionary, lengths: all }
}

/** Number of documents by field. */
class Counts {
  readonly topLevel: Map<string, number>
  readonly allPaths: Map<string, number>

  constructor(index: IndexData | null) {
    this.topLevel = new Map(index?.fieldCounts)
    this.allPaths = new Map(index?.pathCounts)
  }

  add(document: JsonObject, difference: 1 | -1): void {
    for (const name of document.keys()) bump(this.topLevel, name, difference)
    for (const path of facetLeaves(document).keys()) bump(this.allPaths, path, difference)
  }

  paths(): IterableIterator<string> {
    return this.allPaths.keys()
  }
}

function bump(counts: Map<string, number>, key: string, difference: number): void {
  const count = (counts.get(key) ?? 0) + difference
  if (count === 0) counts.delete(key)
  else counts.set(key, count)
}
