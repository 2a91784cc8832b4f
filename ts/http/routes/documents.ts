import { basename } from 'node:path'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import type { Access } from '../../auth/index.js'
import type { DocumentsRequest, PayloadFormat } from '../../engine/index.js'
import { ApiError, type ErrorCode } from '../../errors/index.js'
import type { IndexEntry, TaskContent, TaskType } from '../../tasks/index.js'
import { bodyToFile, jsonBody, jsonNode, mimeType } from '../body.js'
import {
  disconnection,
  param,
  rawQuery,
  reading,
  requireIndexUid,
  sendJsonBytes,
  sendSummary,
} from '../exchange.js'
import {
  anything,
  badValue,
  boolean,
  defaulted,
  documentId,
  type Field,
  filter,
  integer,
  jsonOrText,
  list,
  mapOf,
  oneOf,
  optional,
  readNode,
  readQuery,
  refined,
  required,
  shape,
  sortList,
  starred,
  string,
  strings,
  type Type,
  toText,
  type Values,
} from '../parse/index.js'
import type { RouteServices } from '../services.js'

/** Upload formats by content type, in the order messages list them. */
const formats: Readonly<Record<string, PayloadFormat>> = {
  'application/json': 'json',
  'application/x-ndjson': 'ndjson',
  'text/csv': 'csv',
}

/** The read routes of the reference take no value at all here. */
const noNetwork: Field<null> = {
  type: refined(string, (text, at) => {
    throw badValue(`\`${text}\` is not accepted on this route`, at)
  }),
  code: 'invalid_document_use_network',
  absent: { kind: 'value', value: null },
}
const listParameters = {
  offset: defaulted(integer(), 0, 'invalid_document_offset'),
  limit: defaulted(integer(), 20, 'invalid_document_limit'),
  fields: optional(starred(string), 'invalid_document_fields'),
  retrieveVectors: defaulted(boolean, false, 'invalid_document_retrieve_vectors'),
  ids: optional(list(documentId), 'invalid_document_ids'),
  filter: optional(jsonOrText(filter), 'invalid_document_filter'),
  sort: optional(sortList, 'invalid_document_sort'),
  useNetwork: noNetwork,
}
const fetchBody = shape({
  ...listParameters,
  fields: optional(strings, 'invalid_document_fields'),
  filter: optional(filter, 'invalid_document_filter'),
  sort: optional(strings, 'invalid_document_sort'),
  useNetwork: optional(boolean, 'invalid_document_use_network'),
})
const oneParameters = {
  fields: listParameters.fields,
  retrieveVectors: listParameters.retrieveVectors,
  useNetwork: noNetwork,
}
const writeParameters = { customMetadata: optional(string, 'invalid_index_custom_metadata') }
const csvDelimiter = refined(string, (text, at) => {
  if (!/^[\0-\x7f]$/.test(text)) throw badValue(`\`${text}\` is not a single ASCII character`, at)
  return text
})
const uploadParameters = {
  primaryKey: optional(string, 'invalid_index_primary_key'),
  csvDelimiter: optional(csvDelimiter, 'invalid_document_csv_delimiter'),
  ...writeParameters,
  skipCreation: defaulted(oneOf(['true', 'false'], true), 'false', 'invalid_skip_creation'),
}

/** A filter that must restrict something: emptiness would mean "all documents". */
const someFilter: Type<unknown> = refined(filter, (value, at) => {
  if (value.length === 0 || (typeof value === 'string' && value.trim() === '')) {
    throw badValue('an empty filter is not accepted here', at)
  }
  return value
})
const deletionBody = shape({
  filter: required(someFilter, 'invalid_document_filter', 'missing_document_filter'),
})
const editionBody = shape({
  filter: optional(someFilter, 'invalid_document_filter'),
  context: optional(mapOf(anything), 'invalid_document_edition_context'),
  function: required(string, 'invalid_document_edition_function_filter', 'missing_document_edition_function'),
})
/** Ids to delete: what can be no id is kept as text and will match nothing. */
const batchOfIds: Type<readonly string[]> = list({
  expected: 'an id',
  schema: {},
  json: (node) => (node.kind === 'string' ? node.value : toText(node)),
  text: (text) => text,
})

/** Documents: read, add, replace, merge, delete. */
export const documentRoutes: FastifyPluginAsync<RouteServices> = async (app, services) => {
  const { auth, engine, tasks, features, options, searches } = services
  const path = '/indexes/:indexUid/documents'

  app.get(path, async (request, reply) => {
    const uid = param(request, 'indexUid')
    const access = await auth.require(request.headers.authorization, 'documents.get', uid)
    return browse(request, reply, access, readQuery(rawQuery(request), listParameters))
  })

  app.post(`${path}/fetch`, async (request, reply) => {
    const uid = param(request, 'indexUid')
    const access = await auth.require(request.headers.authorization, 'documents.get', uid)
    const body = await jsonBody(request, options.payloadBytesMax, fetchBody)
    if (body.useNetwork !== null) features.require('network', 'passing `useNetwork`')
    return browse(request, reply, access, body)
  })

  app.get(`${path}/:documentId`, async (request, reply) => {
    const uid = param(request, 'indexUid')
    await auth.require(request.headers.authorization, 'documents.get', uid)
    const { fields, retrieveVectors } = readQuery(rawQuery(request), oneParameters)
    const id = param(request, 'documentId')
    const body = await reading(tasks, requireIndexUid(uid), (entry) =>
      engine.document(entry.id, encode({ id, fields, retrieveVectors })),
    )
    if (body === null) throw new ApiError('document_not_found', `document \`${id}\` not found`)
    return sendJsonBytes(reply, body)
  })

  app.post(path, (request, reply) => upload(request, reply, 'replace'))
  app.put(path, (request, reply) => upload(request, reply, 'update'))

  app.delete(path, async (request, reply) => {
    const { uid, customMetadata } = await deletion(request)
    return accept(reply, requireIndexUid(uid), 'documentDeletion', { kind: 'clear' }, customMetadata)
  })

  app.delete(`${path}/:documentId`, async (request, reply) => {
    const { uid, customMetadata } = await deletion(request)
    const content = { kind: 'deleteByIds', ids: [param(request, 'documentId')] } as const
    return accept(reply, requireIndexUid(uid), 'documentDeletion', content, customMetadata)
  })

  app.post(`${path}/delete-batch`, async (request, reply) => {
    const { uid, customMetadata } = await deletion(request)
    const ids = readNode(await jsonNode(request, options.payloadBytesMax), batchOfIds)
    const content = { kind: 'deleteByIds', ids } as const
    return accept(reply, requireIndexUid(uid), 'documentDeletion', content, customMetadata)
  })

  app.post(`${path}/delete`, async (request, reply) => {
    const { uid, customMetadata } = await deletion(request)
    const body = await jsonBody(request, options.payloadBytesMax, deletionBody)
    requireIndexUid(uid)
    await checkFilter(body.filter)
    const content = { kind: 'deleteByFilter', filter: body.filter } as const
    return accept(reply, uid, 'documentDeletion', content, customMetadata)
  })

  app.post(`${path}/edit`, async (request, reply) => {
    const uid = param(request, 'indexUid')
    await auth.require(request.headers.authorization, 'documents.*', uid)
    const { customMetadata } = readQuery(rawQuery(request), writeParameters)
    const edition = await jsonBody(request, options.payloadBytesMax, editionBody)
    requireIndexUid(uid)
    features.require('editDocumentsByFunction', 'editing documents by function')
    if (edition.filter !== null) await checkFilter(edition.filter)
    await tasks.checkFunction(edition.function)
    const context = edition.context === null ? null : Object.fromEntries(edition.context)
    const content = { kind: 'edit', function: edition.function, filter: edition.filter, context } as const
    return accept(reply, uid, 'documentEdition', content, customMetadata)
  })

  async function browse(
    request: FastifyRequest,
    reply: FastifyReply,
    access: Access,
    wanted: Omit<Values<typeof listParameters>, 'useNetwork'>,
  ): Promise<FastifyReply> {
    const browsed = async (entry: IndexEntry): Promise<Uint8Array> => {
      const { offset, limit, fields, retrieveVectors, ids, sort } = wanted
      const { containsFilter, legacySearch, multimodal } = features.flags
      const body: DocumentsRequest = {
        indexUid: entry.uid,
        offset,
        limit,
        fields,
        retrieveVectors,
        ids,
        filter: wanted.filter,
        sort,
        features: { containsFilter, legacySearch, multimodal },
      }
      return engine.documents(entry.id, encode(body))
    }
    const answer = async (): Promise<Uint8Array> =>
      reading(tasks, requireIndexUid(param(request, 'indexUid')), browsed)
    const body = features.flags.disableDocumentsFetchQueue
      ? await answer()
      : await searches.run(access.holder, disconnection(reply), answer)
    return sendJsonBytes(reply, body)
  }

  async function upload(
    request: FastifyRequest,
    reply: FastifyReply,
    method: 'replace' | 'update',
  ): Promise<FastifyReply> {
    const uid = param(request, 'indexUid')
    const access = await auth.require(request.headers.authorization, 'documents.add', uid)
    const query = readQuery(rawQuery(request), uploadParameters)
    requireIndexUid(uid)
    const format = uploadFormat(request)
    if (query.csvDelimiter !== null && format !== 'csv') {
      const message = `\`csvDelimiter\` belongs to \`text/csv\`, but the content type is \`${mimeType(request)}\``
      throw new ApiError('invalid_content_type', message)
    }
    const slot = await tasks.spool(format)
    try {
      const payloadBytes = await bodyToFile(request, options.payloadBytesMax, slot.path)
      if (payloadBytes === 0) {
        throw new ApiError('missing_payload', `a ${format} payload is missing from the request`)
      }
      const payload = {
        path: slot.path,
        format,
        ...(query.csvDelimiter !== null && { csvDelimiter: query.csvDelimiter }),
      }
      const { documents, error } = await engine.inspect(payload)
      if (error !== undefined) throw new ApiError(error.code, error.message)
      await slot.sync()
      const content: TaskContent = {
        kind: 'documents',
        method,
        payload: { ...payload, path: basename(slot.path) },
        payloadBytes,
        receivedDocuments: documents,
        primaryKey: query.primaryKey,
        skipCreation: query.skipCreation === 'true',
        mayCreateIndex: access.mayCreate(uid),
      }
      return await accept(reply, uid, 'documentAdditionOrUpdate', content, query.customMetadata)
    } catch (error) {
      await slot.discard()
      throw error
    }
  }

  async function deletion(request: FastifyRequest): Promise<{ uid: string; customMetadata: string | null }> {
    const uid = param(request, 'indexUid')
    await auth.require(request.headers.authorization, 'documents.delete', uid)
    return { uid, ...readQuery(rawQuery(request), writeParameters) }
  }

  async function accept(
    reply: FastifyReply,
    indexUid: string,
    type: TaskType,
    content: TaskContent,
    customMetadata: string | null,
  ): Promise<FastifyReply> {
    const summary = await tasks.enqueue({
      indexUid,
      type,
      content,
      customMetadata: customMetadata ?? undefined,
    })
    return sendSummary(reply, summary)
  }

  async function checkFilter(value: unknown): Promise<void> {
    try {
      await engine.checkFilter(encode(value))
    } catch (error) {
      const code: ErrorCode = 'invalid_document_filter'
      throw error instanceof ApiError && error.code === 'invalid_search_filter'
        ? new ApiError(code, error.message)
        : error
    }
  }
}

const encode = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value))

function uploadFormat(request: FastifyRequest): PayloadFormat {
  const mime = mimeType(request)
  const accepted = Object.keys(formats)
    .map((one) => `\`${one}\``)
    .join(', ')
  if (mime === '') {
    throw new ApiError('missing_content_type', `the content-type header is missing; accepted: ${accepted}`)
  }
  const format = Object.hasOwn(formats, mime) ? formats[mime] : undefined
  if (format === undefined) {
    const sent = request.contentType
    throw new ApiError(
      'invalid_content_type',
      `the content type \`${sent}\` is not supported; accepted: ${accepted}`,
    )
  }
  return format
}
