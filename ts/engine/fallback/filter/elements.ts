/**
 * Evaluates filters on elements of a field: an element must match the complete filter.
 *
 * Source: search §12.5.
 * 1. The elements of a field are the objects at its path, alone, in arrays or in nested arrays.
 * 2. The filter selects elements as it would select documents that hold one element each.
 * 3. A document is read only if its elements together have the values that the filter requires.
 */
import { Column } from '../facets/columns.js'
import { facetLeaves } from '../fields/flatten.js'
import { covers } from '../fields/patterns.js'
import { needsColumn } from '../fields/rules.js'
import type { FilterView } from '../index-data/index-data.js'
import { ELEMENT_DOCUMENTS_MAX } from '../limits.js'
import { DocSet } from '../store/docid-set.js'
import type { Json, JsonObject } from '../store/json.js'
import { FilterError } from './error.js'
import type { Filter } from './tree.js'

type ElementFilter = Filter & { readonly kind: 'element' }

/** Evaluates a filter without elements. */
type Evaluate = (index: FilterView, filter: Filter) => DocSet

/** Number of documents whose elements are evaluated together. */
const CHUNK_DOCUMENTS = 500

/**
 * Returns the documents with a matching element.
 * @param within documents that match the rest of the filter; others need not be read
 * @param check throws if the request is cancelled or out of time
 * @throws FilterError also if too many documents would have to be read
 */
export function documentsByElement(
  index: FilterView,
  { field, item, at }: ElementFilter,
  {
    evaluate,
    within,
    check,
  }: { readonly evaluate: Evaluate; readonly within: DocSet; readonly check: () => void },
): DocSet {
  const isOfDocuments = index.root === ''
  const inner = withPrefix(field, isOfDocuments ? withoutInequalities(index, item, field) : item)
  const candidates = superset(index, inner, evaluate).intersect(within)
  if (needsColumn(index.settings, field))
    candidates.intersect(index.columns.byPath.get(field)?.exists ?? new DocSet(0))
  if (isOfDocuments) index.elementReads.documents += candidates.count()
  const read = index.elementReads.documents
  if (read > ELEMENT_DOCUMENTS_MAX)
    throw new FilterError(
      `with the elements of \`${field}\`, those in ${read} documents would have to be read, the most are ` +
        `${ELEMENT_DOCUMENTS_MAX}; join further conditions by \`AND\``,
      at,
    )
  const found = new DocSet(index.alive.words.length * 32)
  const docids = candidates.toArray()
  for (let start = 0; start < docids.length; start += CHUNK_DOCUMENTS) {
    const chunk = docids.subarray(start, start + CHUNK_DOCUMENTS)
    const { view, owners } = elementsOf(index, chunk, { field, filter: inner, check })
    for (const element of evaluate(view, inner).toArray()) found.add(owners[element]!)
  }
  return found
}

/** Prefixes the paths of a filter with `field`; nested element filters stay relative to their elements. */
function withPrefix(field: string, filter: Filter): Filter {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return { ...filter, items: filter.items.map((item) => withPrefix(field, item)) }
    case 'not':
      return { ...filter, item: withPrefix(field, filter.item) }
    case 'condition':
    case 'element':
      return { ...filter, field: `${field}.${filter.field}` }
    default:
      return filter
  }
}

/**
 * Replaces each `!=` by `NOT`. A field that no document has never matches `!=`. This is only known for the complete
 * index, not for the elements that are evaluated together.
 */
function withoutInequalities(index: FilterView, filter: Filter, field: string): Filter {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return { ...filter, items: filter.items.map((item) => withoutInequalities(index, item, field)) }
    case 'not':
      return { ...filter, item: withoutInequalities(index, filter.item, field) }
    case 'element':
      return { ...filter, item: withoutInequalities(index, filter.item, `${field}.${filter.field}`) }
    case 'condition': {
      const { condition } = filter
      if (condition.kind !== 'compare' || condition.op !== '!=') return filter
      const equality: Filter = { ...filter, condition: { ...condition, op: '=' } }
      const unequal: Filter = { kind: 'not', item: equality }
      const column = index.columns.byPath.get(`${field}.${filter.field}`)
      const isKnown = column !== undefined && !column.exists.isEmpty()
      return isKnown ? unequal : { kind: 'and', items: [equality, unequal] }
    }
    default:
      return filter
  }
}

/** A superset of the matching documents, computed from the values of all their elements together. */
function superset(index: FilterView, filter: Filter, evaluate: Evaluate): DocSet {
  switch (filter.kind) {
    case 'and': {
      const found = index.alive.clone()
      for (const item of filter.items) found.intersect(superset(index, item, evaluate))
      return found
    }
    case 'or': {
      const found = new DocSet(index.alive.words.length * 32)
      for (const item of filter.items) found.union(superset(index, item, evaluate))
      return found
    }
    case 'not':
      // Evaluated only to find errors: a value in an element does not exclude the other elements.
      superset(index, filter.item, evaluate)
      return index.alive.clone()
    case 'element':
      return superset(index, withPrefix(filter.field, filter.item), evaluate)
    default:
      return evaluate(index, filter).clone()
  }
}

/** The elements of some documents as a temporary index. `owners`: the document of each element. */
function elementsOf(
  index: FilterView,
  docids: Uint32Array,
  { field, filter, check }: { readonly field: string; readonly filter: Filter; readonly check: () => void },
): { readonly view: FilterView; readonly owners: readonly number[] } {
  const path = index.root === '' ? field : field.slice(index.root.length + 1)
  const elements: JsonObject[] = []
  const owners: number[] = []
  for (const docid of docids) {
    check()
    for (const element of objectsAt(index.document(docid), path)) {
      elements.push(element)
      owners.push(docid)
    }
  }
  const leaves = elements.map(facetLeaves)
  const byPath = new Map<string, Column>()
  for (const wanted of fieldsOf(filter)) {
    check()
    const column = new Column()
    const inElement = wanted.slice(field.length + 1)
    column.apply(
      leaves.map((ofElement, docid) => ({ docid, leaf: ofElement.get(inElement) })),
      elements.length,
    )
    byPath.set(wanted, column)
  }
  const alive = new DocSet(elements.length)
  for (let element = 0; element < elements.length; element++) alive.add(element)
  const view: FilterView = {
    root: field,
    settings: index.settings,
    alive,
    columns: { byPath, points: [], shapes: [] },
    vectorStates: () => [],
    document: (element) => elements[element]!,
    elementReads: index.elementReads,
  }
  return { view, owners }
}

/** Paths that a filter reads, including those within elements. */
function fieldsOf(filter: Filter): ReadonlySet<string> {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return new Set(filter.items.flatMap((item) => [...fieldsOf(item)]))
    case 'not':
      return fieldsOf(filter.item)
    case 'condition':
      return new Set([filter.field])
    case 'element':
      return new Set([filter.field, ...fieldsOf(withPrefix(filter.field, filter.item))])
    default:
      return new Set()
  }
}

/** Objects at a dotted path, through arrays; field names may contain dots. */
function objectsAt(object: JsonObject, path: string): readonly JsonObject[] {
  const found: JsonObject[] = []
  for (const [name, value] of object) {
    if (!covers(name, path)) continue
    for (const inner of objectsIn(value)) {
      if (name === path) found.push(inner)
      else for (const object of objectsAt(inner, path.slice(name.length + 1))) found.push(object)
    }
  }
  return found
}

function objectsIn(value: Json): readonly JsonObject[] {
  if (value instanceof Map) return [value]
  return Array.isArray(value) ? value.flatMap(objectsIn) : []
}
