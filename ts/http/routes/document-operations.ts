import type { PayloadFormat } from '../../engine/index.js'
import {
  atMost,
  badValue,
  boolean,
  defaulted,
  deletionBody,
  documentFields,
  editionBody,
  type Field,
  filter,
  jsonOrText,
  list,
  NAMES_MAX,
  oneOf,
  optional,
  refined,
  type Schema,
  shape,
  sortList,
  starred,
  string,
  type Type,
  toText,
} from '../../operations/index.js'
import { document, listOf, pageOf } from '../answers/index.js'

// Operations of the document routes.

/** Upload formats by content type, in the order of error messages. */
export const formats = {
  'application/json': 'json',
  'application/x-ndjson': 'ndjson',
  'text/csv': 'csv',
} as const satisfies Record<string, PayloadFormat>

/** `useNetwork` in a query string. Source: the API accepts no value for it there. */
const noNetwork: Field<null> = {
  type: refined(string, (text, at) => {
    throw badValue(`\`${text}\` is not accepted on this route`, at)
  }),
  code: 'invalid_document_use_network',
  absent: { kind: 'value', value: null },
}
const listParameters = {
  ...documentFields,
  fields: optional(starred(string), 'invalid_document_fields'),
  filter: optional(jsonOrText(filter), 'invalid_document_filter'),
  sort: optional(atMost(sortList, NAMES_MAX), 'invalid_document_sort'),
  useNetwork: noNetwork,
}
const fetchBody = shape(
  { ...documentFields, useNetwork: optional(boolean, 'invalid_document_use_network') },
  { notesSent: true },
)
const oneParameters = {
  fields: listParameters.fields,
  retrieveVectors: listParameters.retrieveVectors,
  useNetwork: noNetwork,
}
export const writeParameters = { customMetadata: optional(string, 'invalid_index_custom_metadata') }
const csvDelimiter = refined(string, (text, at) => {
  if (!/^[\0-\x7f]$/.test(text)) throw badValue(`\`${text}\` is not a single ASCII character`, at)
  return text
})
export const uploadParameters = {
  primaryKey: optional(string, 'invalid_index_primary_key'),
  csvDelimiter: optional(csvDelimiter, 'invalid_document_csv_delimiter'),
  ...writeParameters,
  skipCreation: defaulted(oneOf(['true', 'false'], true), 'false', 'invalid_skip_creation'),
}

/** Document ids to delete. A value of another type is replaced by its JSON text, which matches no document. */
const batchOfIds: Type<readonly string[]> = list({
  expected: 'an id',
  schema: {},
  json: (node) => (node.kind === 'string' ? node.value : toText(node)),
  text: (text) => text,
})

const path = '/indexes/:indexUid/documents'
const one = `${path}/:documentId`
const listed = { 200: pageOf(document) } as const

export const browsing = {
  method: 'GET',
  url: path,
  summary: 'Browse documents',
  actions: ['documents.get'],
  query: listParameters,
  answers: listed,
} as const
export const fetching = {
  method: 'POST',
  url: `${path}/fetch`,
  summary: 'Browse documents, with parameters in the body',
  actions: ['documents.get'],
  body: fetchBody,
  answers: listed,
} as const
export const getting = {
  method: 'GET',
  url: one,
  summary: 'Get one document',
  actions: ['documents.get'],
  query: oneParameters,
  answers: { 200: document },
} as const
const uploads = {
  'application/json': { anyOf: [listOf(document), document] },
  'application/x-ndjson': { type: 'string' },
  'text/csv': { type: 'string' },
} as const satisfies Record<keyof typeof formats, Schema>
const uploading = {
  url: path,
  actions: ['documents.add'],
  query: uploadParameters,
  uploads,
} as const
export const replacing = { ...uploading, method: 'POST', summary: 'Add or replace documents' } as const
export const updating = {
  ...uploading,
  method: 'PUT',
  summary: 'Add documents or merge their fields',
} as const
const deletion = { actions: ['documents.delete'], query: writeParameters } as const
export const clearing = { ...deletion, method: 'DELETE', url: path, summary: 'Delete all documents' } as const
export const deleting = { ...deletion, method: 'DELETE', url: one, summary: 'Delete one document' } as const
export const deletingByIds = {
  ...deletion,
  method: 'POST',
  url: `${path}/delete-batch`,
  summary: 'Delete documents by their ids',
  body: batchOfIds,
} as const
export const deletingByFilter = {
  ...deletion,
  method: 'POST',
  url: `${path}/delete`,
  summary: 'Delete the documents that a filter matches',
  body: deletionBody,
} as const
export const editing = {
  method: 'POST',
  url: `${path}/edit`,
  summary: 'Run a function over documents',
  actions: ['documents.*'],
  query: writeParameters,
  body: editionBody,
} as const
