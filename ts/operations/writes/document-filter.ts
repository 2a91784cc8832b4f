import { type Engine, encodeRequest, type FilterValue } from '../../engine/index.js'
import { ApiError, clientMessages } from '../../errors/index.js'
import { type Features, requestFeatures } from '../../instance/index.js'
import { filter, refined, type Type } from '../requests/index.js'

/** A non-empty filter. An empty filter would match all documents. */
export const nonEmptyFilter: Type<FilterValue> = refined(filter, (value) => {
  if (isEmpty(value)) throw new ApiError('invalid_document_filter', clientMessages.emptyFilter)
  return value
})

/** Returns true for a blank text, and for an array without any condition. */
const isEmpty = (value: unknown): boolean =>
  Array.isArray(value) ? value.every(isEmpty) : typeof value === 'string' && value.trim() === ''

/** @throws ApiError `invalid_document_filter` */
export async function checkDocumentFilter(
  value: FilterValue,
  { engine, features }: { readonly engine: Engine; readonly features: Features },
): Promise<void> {
  try {
    // Source: recorded answers. The feature for `CONTAINS` is checked when the task runs.
    const allowed = { ...requestFeatures(features), containsFilter: true }
    await engine.checkFilter(encodeRequest({ filter: value, features: allowed }))
  } catch (error) {
    throw error instanceof ApiError && error.code === 'invalid_search_filter'
      ? new ApiError('invalid_document_filter', error.message)
      : error
  }
}
