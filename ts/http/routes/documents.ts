import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import type { Access } from '../../auth/index.js'
import type { DocumentsRequest, PayloadFormat } from '../../engine/index.js'
import { ApiError, type ErrorCode } from '../../errors/index.js'
import type { IndexEntry, TaskContent, TaskType } from '../../tasks/index.js'
import { mimeType } from '../body.js'
import {
  browsing,
  clearing,
  deleting,
  deletingByFilter,
  deletingByIds,
  editing,
  fetching,
  formats,
  getting,
  type listParameters,
  replacing,
  updating,
  type uploadParameters,
  type writeParameters,
} from '../document-operations.js'
import { type Call, serve } from '../endpoint.js'
import { disconnection, param, reading, requireIndexUid, sendJsonBytes, sendSummary } from '../exchange.js'
import type { Values } from '../parse/index.js'
import type { RouteServices } from '../services.js'
import { receiveUpload } from '../uploads.js'

/** Documents: read, add, replace, merge, delete, edit. */
export const documentRoutes: FastifyPluginAsync<RouteServices> = async (app, services) => {
  const { engine, tasks, features, options, searches } = services

  serve(app, services, browsing, ({ reply, access, indexUid, query }) =>
    browse(reply, access, indexUid, query),
  )

  serve(app, services, fetching, ({ reply, access, indexUid, body }) => {
    if (body.useNetwork !== null) features.require('network', 'passing `useNetwork`')
    return browse(reply, access, indexUid, body)
  })

  serve(app, services, getting, async ({ request, reply, indexUid, query: { fields, retrieveVectors } }) => {
    const id = param(request, 'documentId')
    const body = await reading(tasks, requireIndexUid(indexUid), (entry) =>
      engine.document(entry.id, encode({ id, fields, retrieveVectors })),
    )
    if (body === null) throw new ApiError('document_not_found', `document \`${id}\` not found`)
    return sendJsonBytes(reply, body)
  })

  serve(app, services, replacing, (call) => upload(call, 'replace'))
  serve(app, services, updating, (call) => upload(call, 'update'))

  serve(app, services, clearing, ({ reply, indexUid, query }) =>
    accept(reply, requireIndexUid(indexUid), 'documentDeletion', { kind: 'clear' }, query),
  )

  serve(app, services, deleting, ({ request, reply, indexUid, query }) => {
    const content = { kind: 'deleteByIds', ids: [param(request, 'documentId')] } as const
    return accept(reply, requireIndexUid(indexUid), 'documentDeletion', content, query)
  })

  serve(app, services, deletingByIds, ({ reply, indexUid, query, body: ids }) =>
    accept(reply, requireIndexUid(indexUid), 'documentDeletion', { kind: 'deleteByIds', ids }, query),
  )

  serve(app, services, deletingByFilter, async ({ reply, indexUid, query, body: { filter } }) => {
    requireIndexUid(indexUid)
    await checkFilter(filter)
    return accept(reply, indexUid, 'documentDeletion', { kind: 'deleteByFilter', filter }, query)
  })

  serve(app, services, editing, async ({ reply, indexUid, query, body }) => {
    requireIndexUid(indexUid)
    features.require('editDocumentsByFunction', 'editing documents by function')
    if (body.filter !== null) await checkFilter(body.filter)
    await tasks.checkFunction(body.function)
    const context = body.context === null ? null : Object.fromEntries(body.context)
    const content = { kind: 'edit', function: body.function, filter: body.filter, context } as const
    return accept(reply, indexUid, 'documentEdition', content, query)
  })

  async function browse(
    reply: FastifyReply,
    access: Access,
    indexUid: string,
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
    const answer = async (): Promise<Uint8Array> => reading(tasks, requireIndexUid(indexUid), browsed)
    const body = features.flags.disableDocumentsFetchQueue
      ? await answer()
      : await searches.run(access.holder, disconnection(reply), answer)
    return sendJsonBytes(reply, body)
  }

  async function upload(
    { request, reply, access, indexUid: uid, query }: Call<typeof uploadParameters, undefined>,
    method: 'replace' | 'update',
  ): Promise<FastifyReply> {
    requireIndexUid(uid)
    const format = uploadFormat(request)
    if (query.csvDelimiter !== null && format !== 'csv') {
      const message = `\`csvDelimiter\` belongs to \`text/csv\`, but the content type is \`${mimeType(request)}\``
      throw new ApiError('invalid_content_type', message)
    }
    const upload = await receiveUpload(request, tasks, options.payloadBytesMax, {
      format,
      ...(query.csvDelimiter !== null && { csvDelimiter: query.csvDelimiter }),
    })
    try {
      const { payload, payloadBytes } = upload
      if (payloadBytes === 0) {
        throw new ApiError('missing_payload', `a ${format} payload is missing from the request`)
      }
      const { documents, error } = await engine.inspect(payload)
      if (error !== undefined) throw new ApiError(error.code, error.message)
      const content: TaskContent = {
        kind: 'documents',
        method,
        payload: await upload.keep(),
        payloadBytes,
        receivedDocuments: documents,
        primaryKey: query.primaryKey,
        skipCreation: query.skipCreation === 'true',
        mayCreateIndex: access.mayCreate(uid),
      }
      return await accept(reply, uid, 'documentAdditionOrUpdate', content, query)
    } catch (error) {
      await upload.discard()
      throw error
    }
  }

  async function accept(
    reply: FastifyReply,
    indexUid: string,
    type: TaskType,
    content: TaskContent,
    { customMetadata }: Values<typeof writeParameters>,
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
  const format = Object.hasOwn(formats, mime) ? formats[mime as keyof typeof formats] : undefined
  if (format === undefined) {
    const sent = request.contentType
    throw new ApiError(
      'invalid_content_type',
      `the content type \`${sent}\` is not supported; accepted: ${accepted}`,
    )
  }
  return format
}
