import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import type { Access } from '../../auth/index.js'
import { encodeRequest, type PayloadFormat } from '../../engine/index.js'
import { ApiError } from '../../errors/index.js'
import type { DisconnectSignal } from '../../operations/index.js'
import {
  deletionContent,
  editionContent,
  listedDocuments,
  readIndex,
  requireIndexUid,
  requireNoNetwork,
  type Values,
  type WantedDocuments,
  wasSent,
} from '../../operations/index.js'
import type { TaskContent, TaskSummary, TaskType } from '../../tasks/index.js'
import type { Facts } from '../../telemetry/index.js'
import { sendJsonBytes } from '../answers/index.js'
import { contentType, mimeType, receiveUpload } from '../body/index.js'
import { serveTask } from '../following/index.js'
import { CreatedIndexes, onVectors, recordUse } from '../metrics/index.js'
import { type Call, param, serve } from '../operations/index.js'
import type { RouteServices } from '../route-services.js'
import { disconnectOf, untilDisconnected } from '../searches/index.js'
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
  replacing,
  updating,
  type uploadParameters,
  type writeParameters,
} from './document-operations.js'

/** The route that reads one document. */
export function serveDocument(
  app: FastifyInstance,
  services: Pick<RouteServices, 'engine' | 'tasks' | 'usage' | 'auth' | 'options' | 'replicated'>,
): void {
  const { engine, tasks } = services
  serve(app, services, getting, async ({ request, reply, indexUid, query: { fields, retrieveVectors } }) => {
    const id = param(request, 'documentId')
    recordUse(services, request, 'documentsFetchedByGet', {
      per_document_id: true,
      'vector.retrieve_vectors': retrieveVectors,
    })
    const body = await readIndex(tasks, requireIndexUid(indexUid), (entry) =>
      engine.document(entry.id, encodeRequest({ id, fields, retrieveVectors })),
    )
    if (body === null) throw new ApiError('document_not_found', `document \`${id}\` not found`)
    return sendJsonBytes(reply, body)
  })
}

/** Documents: read, add, replace, merge, delete, edit. */
export const documentRoutes: FastifyPluginAsync<RouteServices> = async (app, services) => {
  const { engine, tasks, features, options, searches, usage } = services
  const creations = new CreatedIndexes(services)

  serve(app, services, browsing, ({ request, reply, access, indexUid, query }) => {
    recordUse(services, request, 'documentsFetchedByGet', browsedFacts(query))
    return browse(reply, access, indexUid, query)
  })

  serve(app, services, fetching, ({ request, reply, access, indexUid, body }) => {
    recordUse(services, request, 'documentsFetched', browsedFacts(body))
    requireNoNetwork(body.useNetwork, features)
    return browse(reply, access, indexUid, body)
  })

  serveDocument(app, services)

  serveTask(app, services, replacing, (call) => upload(call, 'replace'))
  serveTask(app, services, updating, (call) => upload(call, 'update'))

  serveTask(app, services, clearing, async ({ request, indexUid, query }) => {
    recordUse(services, request, 'documentsDeleted', { clear_all: true })
    return accept(requireIndexUid(indexUid), 'documentDeletion', { kind: 'clear' }, query)
  })

  serveTask(app, services, deleting, async ({ request, indexUid, query }) => {
    recordUse(services, request, 'documentsDeleted', { per_document_id: true })
    const content = { kind: 'deleteByIds', ids: [param(request, 'documentId')] } as const
    return accept(requireIndexUid(indexUid), 'documentDeletion', content, query)
  })

  serveTask(app, services, deletingByIds, async ({ request, indexUid, query, body: ids }) => {
    recordUse(services, request, 'documentsDeleted', { per_batch: true })
    return accept(requireIndexUid(indexUid), 'documentDeletion', { kind: 'deleteByIds', ids }, query)
  })

  serveTask(app, services, deletingByFilter, async ({ request, indexUid, query, body: { filter } }) => {
    recordUse(services, request, 'documentsDeleted', { per_filter: true })
    requireIndexUid(indexUid)
    return accept(indexUid, 'documentDeletion', await deletionContent({ filter }, services), query)
  })

  serveTask(app, services, editing, async ({ request, indexUid, query, body }) => {
    recordUse(services, request, 'documentsEdited', {
      filtered: body.filter !== null,
      with_context: body.context !== null,
    })
    requireIndexUid(indexUid)
    return accept(indexUid, 'documentEdition', await editionContent(body, services), query)
  })

  async function browse(
    reply: FastifyReply,
    access: Access,
    indexUid: string,
    wanted: WantedDocuments,
  ): Promise<FastifyReply> {
    const answer = async (stop: DisconnectSignal): Promise<Uint8Array> =>
      readIndex(tasks, requireIndexUid(indexUid), (entry, alsoRead) =>
        listedDocuments(services, entry, wanted, { access, stop, alsoRead }),
      )
    const onDisconnect = disconnectOf(reply)
    const body = features.flags.disableDocumentsFetchQueue
      ? await untilDisconnected(onDisconnect, answer)
      : await searches.run(access.holder, onDisconnect, answer)
    return sendJsonBytes(reply, body)
  }

  async function upload(
    { request, access, indexUid: uid, query }: Call<typeof uploadParameters, undefined>,
    method: 'replace' | 'update',
  ): Promise<TaskSummary> {
    const event = method === 'replace' ? 'documentsAdded' : 'documentsUpdated'
    // Count refused uploads too, to show which content types clients try.
    recordUse(services, request, event, {
      payload_type: contentType(request) === '' ? [] : [contentType(request)],
    })
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
    let content: TaskContent & { readonly kind: 'documents' }
    try {
      const { payload, payloadBytes } = upload
      if (payloadBytes === 0) {
        throw new ApiError('missing_payload', `a ${format} payload is missing from the request`)
      }
      const { documents, error } = await engine.inspect(payload)
      if (error !== undefined) throw new ApiError(error.code, error.message)
      content = {
        kind: 'documents',
        method,
        payload: await upload.persist(),
        payloadBytes,
        receivedDocuments: documents,
        primaryKey: query.primaryKey,
        skipCreation: query.skipCreation === 'true',
        mayCreateIndex: access.mayCreate(uid),
      }
    } catch (error) {
      await upload.discard()
      throw error
    }
    const mayCreate = tasks.index(uid) === null && content.mayCreateIndex
    // From here on the queue owns the upload, even if this call fails: a stored task may need it.
    const summary = await accept(uid, 'documentAdditionOrUpdate', content, query)
    usage.observe(event, { primary_key: query.primaryKey })
    if (mayCreate) void creations.expect(uid, summary.taskUid, event)
    return summary
  }

  function accept(
    indexUid: string,
    type: TaskType,
    content: TaskContent,
    { customMetadata }: Values<typeof writeParameters>,
  ): Promise<TaskSummary> {
    return tasks.enqueue({ indexUid, type, content, customMetadata: customMetadata ?? undefined })
  }
}

function browsedFacts(wanted: WantedDocuments): Facts<'documentsFetched'> {
  return {
    // Source: the list of metrics names the routes, which accept a filter, and not the filter.
    per_filter: true,
    with_vector_filter: onVectors(wanted.filter),
    'vector.retrieve_vectors': wanted.retrieveVectors,
    'pagination.max_limit': wasSent(wanted, 'limit') ? wanted.limit : 0,
    'pagination.max_offset': wanted.offset,
    sort: wanted.sort !== null,
  }
}

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
    const sent = contentType(request)
    throw new ApiError(
      'invalid_content_type',
      `the content type \`${sent}\` is not supported; accepted: ${accepted}`,
    )
  }
  return format
}
