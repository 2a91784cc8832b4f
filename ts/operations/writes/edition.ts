import type { FilterValue } from '../../engine/index.js'
import type { TaskContent } from '../../tasks/index.js'
import { anything, mapOf, optional, required, shape, string } from '../requests/index.js'
import { checkDocumentFilter, nonEmptyFilter } from './document-filter.js'
import type { WriteServices } from './services.js'

/** Body of a request to run a function over documents. */
export const editionBody = shape({
  filter: optional(nonEmptyFilter, 'invalid_document_filter'),
  context: optional(mapOf(anything), 'invalid_document_edition_context'),
  function: required(string, 'invalid_document_edition_function_filter', 'missing_document_edition_function'),
})

interface EditionRequest {
  readonly function: string
  readonly filter: FilterValue | null
  readonly context: ReadonlyMap<string, unknown> | null
}

/** @throws ApiError if the feature is off, or the filter or function is invalid */
export async function editionContent(
  { function: source, filter, context }: EditionRequest,
  services: WriteServices,
): Promise<TaskContent> {
  services.features.require('editDocumentsByFunction', 'editing documents by function')
  if (filter !== null) await checkDocumentFilter(filter, services)
  await services.tasks.checkFunction(source)
  return {
    kind: 'edit',
    function: source,
    filter,
    context: context === null ? null : Object.fromEntries(context),
  }
}
