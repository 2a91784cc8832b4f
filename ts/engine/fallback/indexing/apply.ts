/** Applies a planned batch within one turn of the event loop. */
import { analysisVersion } from '../analysis/version.js'
import { Column } from '../facets/columns.js'
import type { IndexData } from '../index-data/index-data.js'
import { DocSet } from '../store/docid-set.js'
import { applyVectors } from '../vector/index.js'
import type { BatchPlan } from './prepare.js'

/** Applies `plan` to `index`. The plan must have been made for its current version. */
export function applyPlan(index: IndexData, plan: BatchPlan): void {
  const { bound, text, columns } = plan.indexes
  if (plan.cleared) {
    index.documents.length = 0
    index.docids.clear()
    index.alive = new DocSet(0)
    index.sourceBytes = 0
  }
  index.alive = index.alive.resized(bound)
  // Remove all old ids first: an id may get another docid within a batch.
  for (const docid of plan.changes.keys()) {
    const old = index.documents[docid]
    if (old === undefined) continue
    index.sourceBytes -= old.source.length
    index.docids.delete(old.id)
    index.alive.delete(docid)
    index.documents[docid] = undefined
  }
  for (const [docid, document] of plan.changes) {
    if (document === null) continue
    index.documents[docid] = document
    index.docids.set(document.id, docid)
    index.alive.add(docid)
    index.sourceBytes += document.source.length
  }
  while (index.documents.length > 0 && index.documents.at(-1) === undefined) index.documents.pop()

  if (text.kind === 'rebuilt') {
    index.text = text.text
    index.analysis = analysisVersion
  } else {
    const { lengths } = index.text
    for (const [docid, pairs] of text.lengths) lengths[docid] = pairs
    index.text = { dictionary: index.text.dictionary.replaced(text.lists, text.sorted), lengths }
  }
  if (columns.kind === 'rebuilt') index.columns = columns.columns
  else {
    for (const [path, changes] of columns.rows) {
      const column = index.columns.byPath.get(path) ?? new Column()
      column.apply(changes, bound)
      index.columns.byPath.set(path, column)
    }
    for (const [docid, point] of columns.points) index.columns.points[docid] = point
    for (const [docid, shapes] of columns.shapes) index.columns.shapes[docid] = shapes
  }
  replace(index.fieldCounts, plan.indexes.fieldCounts)
  replace(index.pathCounts, plan.indexes.pathCounts)
  applyVectors(index.vectors, plan.vectors)
  index.tokenizer = plan.indexes.tokenizer
  index.dictionaries = plan.dictionaries
  if (plan.settings !== null) index.settings = plan.settings
  index.primaryKey = plan.primaryKey
  index.report = plan.report
  index.version++
}

function replace(counts: Map<string, number>, by: ReadonlyMap<string, number>): void {
  counts.clear()
  for (const [name, count] of by) counts.set(name, count)
}
