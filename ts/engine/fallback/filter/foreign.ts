/**
 * Resolves filters on documents of other indexes to document ids.
 *
 * Source: search §20.2.
 * 1. The first foreign key of a field names its index.
 * 2. `_foreign(field, filter)` becomes `field IN [ids]`, with the ids of all matching documents of that index.
 * 3. Documents that the request may not read do not match.
 */
import type { ErrorCode } from '../../../errors/index.js'
import { EngineError } from '../../engine-error.js'
import type { IndexId } from '../../index-id.js'
import type { FilterValue, ForeignKey } from '../../requests.js'
import { type IndexData, viewOf } from '../index-data/index-data.js'
import { FOREIGN_SELECTED_MAX } from '../limits.js'
import type { DocSet } from '../store/docid-set.js'
import { FilterError } from './error.js'
import { documentsMatching } from './evaluate.js'
import { type FilterFeatures, isReserved, parseFilter, reservedReason } from './parse.js'
import type { Filter } from './tree.js'

/** Other indexes that a request may read. */
export interface ForeignIndexes {
  readonly data: ReadonlyMap<IndexId, IndexData>
  /** Documents selected by the filters of the request so far. */
  readonly selected: Map<IndexId, DocSet>
}

/** Context for evaluating filters on other indexes. */
interface ForeignContext {
  readonly keys: readonly ForeignKey[]
  readonly indexes: ForeignIndexes
  readonly features: FilterFeatures
  /** Throws if the request is cancelled or out of time. */
  readonly check: () => void
}

type ForeignFilter = Filter & { readonly kind: 'foreign' }

/**
 * Returns the filter with filters on other indexes replaced by lists of ids.
 * @throws EngineError
 */
export function withForeignIds(filter: Filter, context: ForeignContext): Filter {
  switch (filter.kind) {
    case 'and':
    case 'or': {
      const items = filter.items.map((item) => withForeignIds(item, context))
      return items.every((item, at) => item === filter.items[at]) ? filter : { ...filter, items }
    }
    case 'not': {
      const item = withForeignIds(filter.item, context)
      return item === filter.item ? filter : { ...filter, item }
    }
    case 'foreign': {
      const values = selectedIds(filter, context)
      if (isReserved(filter.field)) throw new FilterError(reservedReason(`\`${filter.field}\``), filter.at)
      return { kind: 'condition', field: filter.field, condition: { kind: 'in', values }, at: filter.at }
    }
    default:
      return filter
  }
}

/** Documents of another index that a request may read; all documents without a filter. */
export function readableDocuments(
  data: IndexData,
  filter: FilterValue | null,
  { features, check }: Pick<ForeignContext, 'features' | 'check'>,
): DocSet {
  const parsed = parsedOr('invalid_search_filter', () => parseFilter(filter, features))
  if (parsed === null) return data.alive
  requireFlat(parsed)
  return parsedOr('invalid_search_filter', () => documentsMatching(viewOf(data), parsed, check))
}

function selectedIds({ field, item, at }: ForeignFilter, context: ForeignContext): readonly string[] {
  const key = context.keys.find(({ fieldName }) => fieldName === field)
  if (key === undefined)
    throw refused('invalid_search_filter', `\`${field}\` is not among the \`foreignKeys\` of the index`, at)
  requireFlat(item)
  const { access, foreignIndexUid } = key
  if (access.kind === 'refused') throw refused('invalid_api_key', access.message, at)
  const data = access.kind === 'missing' ? undefined : context.indexes.data.get(access.index)
  if (access.kind === 'missing' || data === undefined) throw foreignIndexNotFound(foreignIndexUid)
  const found = parsedOr('invalid_document_filter', () =>
    documentsMatching(viewOf(data), item, context.check),
  ).clone()
  if (access.filter !== null) found.intersect(readableDocuments(data, access.filter, context))
  const { selected } = context.indexes
  const together = selected.get(access.index)?.union(found) ?? found.clone()
  selected.set(access.index, together)
  if (together.count() > FOREIGN_SELECTED_MAX)
    throw refused(
      'invalid_search_filter',
      `\`_foreign\` selects more than ${FOREIGN_SELECTED_MAX} documents of the index \`${foreignIndexUid}\``,
      at,
    )
  return Array.from(found.toArray(), (docid) => data.documents[docid]!.id)
}

/** @throws EngineError if a filter on another index follows foreign keys itself */
function requireFlat(filter: Filter): void {
  const nested = firstForeign(filter)
  if (nested !== null)
    throw refused('invalid_search_filter', '`_foreign` cannot be used inside `_foreign`', nested.at)
}

/** @throws FilterError if a filter follows foreign keys; null is accepted */
export function requireOwn(filter: Filter | null): void {
  const foreign = filter === null ? null : firstForeign(filter)
  if (foreign !== null) throw new FilterError('`_foreign` cannot be used here', foreign.at)
}

function firstForeign(filter: Filter): ForeignFilter | null {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return filter.items.map(firstForeign).find((found) => found !== null) ?? null
    case 'not':
      return firstForeign(filter.item)
    case 'foreign':
      return filter
    default:
      return null
  }
}

/** Error for a foreign key that refers to a missing index. */
export const foreignIndexNotFound = (uid: string): EngineError =>
  new EngineError('index_not_found', `index \`${uid}\`, which a foreign key names, not found`)

const refused = (code: ErrorCode, reason: string, at: ForeignFilter['at']): EngineError =>
  new EngineError(code, new FilterError(reason, at).message)

/** @param code for mistakes in the filter */
function parsedOr<T>(code: ErrorCode, run: () => T): T {
  try {
    return run()
  } catch (error) {
    if (error instanceof FilterError) throw new EngineError(error.code(code), error.message)
    throw error
  }
}
