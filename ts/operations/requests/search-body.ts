import type { SearchRequest } from '../../engine/index.js'
import { readBody, shape } from './parse/index.js'
import { searchFields } from './search-fields.js'
import { type SearchContext, searchRequest } from './search-requests.js'

const searchBody = shape(searchFields)

/**
 * Returns the complete engine request for the body of a search, for callers without an HTTP request.
 * @param body UTF-8 JSON, as for POST /search
 * @throws ApiError with the code of that route
 */
export const readSearch = (body: Uint8Array, context: SearchContext): SearchRequest =>
  searchRequest(readBody(body, searchBody), context)
