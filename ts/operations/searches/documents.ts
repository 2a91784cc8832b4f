/** Lists the stored documents of an index, in stored or sorted order. */
import { type DocumentsRequest, encodeRequest, foreignIndexes } from '../../engine/index.js'
import { requestFeatures } from '../../instance/index.js'
import type { IndexEntry } from '../../tasks/index.js'
import {
  ANSWER_BYTES_MAX,
  atMost,
  boolean,
  defaulted,
  documentId,
  filter,
  followedKeys,
  integer,
  list,
  NAMES_MAX,
  optional,
  strings,
  type Values,
} from '../requests/index.js'
import type { Reading } from './reading.js'
import type { SearchServices } from './services.js'

/** The fields of the body of POST /documents/fetch, except those for other instances. */
export const documentFields = {
  offset: defaulted(integer(), 0, 'invalid_document_offset'),
  limit: defaulted(integer(), 20, 'invalid_document_limit'),
  fields: optional(atMost(strings, NAMES_MAX), 'invalid_document_fields'),
  retrieveVectors: defaulted(boolean, false, 'invalid_document_retrieve_vectors'),
  ids: optional(list(documentId), 'invalid_document_ids'),
  filter: optional(filter, 'invalid_document_filter'),
  sort: optional(atMost(strings, NAMES_MAX), 'invalid_document_sort'),
}

export type WantedDocuments = Values<typeof documentFields>

/** Returns a page of documents as the routes answer it. */
export async function listedDocuments(
  services: SearchServices,
  entry: IndexEntry,
  { offset, limit, fields, retrieveVectors, ids, filter, sort }: WantedDocuments,
  { access, stop, alsoRead }: Reading,
): Promise<Uint8Array> {
  const { engine, features } = services
  const { entries, ...followed } = await followedKeys(services, entry, access)
  alsoRead(entries)
  const request: DocumentsRequest = {
    indexUid: entry.uid,
    offset,
    limit,
    fields,
    retrieveVectors,
    ids,
    filter,
    sort,
    features: requestFeatures(features),
    ...followed,
    answerBytesMax: ANSWER_BYTES_MAX,
  }
  return engine.documents(entry.id, encodeRequest(request), stop, foreignIndexes(request))
}
