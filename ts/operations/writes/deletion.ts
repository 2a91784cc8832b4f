import type { FilterValue } from '../../engine/index.js'
import type { TaskContent } from '../../tasks/index.js'
import { required, shape } from '../requests/index.js'
import { checkDocumentFilter, nonEmptyFilter } from './document-filter.js'
import type { WriteServices } from './services.js'

/** Body of a deletion of documents by filter. */
export const deletionBody = shape({
  filter: required(nonEmptyFilter, 'invalid_document_filter', 'missing_document_filter'),
})

interface DeletionRequest {
  readonly filter: FilterValue
}

/** @throws ApiError `invalid_document_filter` */
export async function deletionContent(
  { filter }: DeletionRequest,
  services: WriteServices,
): Promise<TaskContent> {
  await checkDocumentFilter(filter, services)
  return { kind: 'deleteByFilter', filter }
}
