import { Readable } from 'node:stream'
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import { ApiError, type ErrorCode } from '../../errors/index.js'
import {
  boolean,
  dateBound,
  defaulted,
  type Field,
  indexUid,
  oneOf,
  readQuery,
  starred,
  type Type,
  u32,
  type Values,
} from '../../requests/index.js'
import { type TaskFilter, taskStatuses, taskTypes } from '../../tasks/index.js'
import { batch, compaction, pageFrom, task, taskSummary, text } from '../answers.js'
import { described } from '../endpoint.js'
import { param, rawQuery, sendJson, sendSummary } from '../exchange.js'
import { UNREAD_MS_MAX } from '../limits.js'
import type { RouteServices } from '../route-services.js'
import { humanSize } from '../sizes.js'
import { closeIfUnread } from '../unread-answers.js'
import { raise, taskFacts } from '../usage.js'

/** A filter of the listings; undefined if not sent, null for `*`. */
function filterBy<T>(type: Type<T>, code: ErrorCode): Field<T | undefined> {
  return { type, code, absent: { kind: 'value', value: undefined } }
}

const filters = {
  batchUids: filterBy(starred(u32), 'invalid_batch_uids'),
  uids: filterBy(starred(u32), 'invalid_task_uids'),
  canceledBy: filterBy(starred(u32), 'invalid_task_canceled_by'),
  types: filterBy(starred(oneOf(taskTypes, true)), 'invalid_task_types'),
  statuses: filterBy(starred(oneOf(taskStatuses, true)), 'invalid_task_statuses'),
  indexUids: filterBy(starred(indexUid), 'invalid_index_uid'),
  afterEnqueuedAt: filterBy(dateBound('after'), 'invalid_task_after_enqueued_at'),
  beforeEnqueuedAt: filterBy(dateBound('before'), 'invalid_task_before_enqueued_at'),
  afterStartedAt: filterBy(dateBound('after'), 'invalid_task_after_started_at'),
  beforeStartedAt: filterBy(dateBound('before'), 'invalid_task_before_started_at'),
  afterFinishedAt: filterBy(dateBound('after'), 'invalid_task_after_finished_at'),
  beforeFinishedAt: filterBy(dateBound('before'), 'invalid_task_before_finished_at'),
}
const listParameters = {
  limit: defaulted(u32, 20, 'invalid_task_limit'),
  from: defaulted<number | null>(u32, null, 'invalid_task_from'),
  reverse: defaulted(boolean, false, 'invalid_task_reverse'),
  ...filters,
}

/** Tasks and the batches they ran in. */
export const taskRoutes: FastifyPluginAsync<RouteServices> = async (app, services) => {
  const { auth, tasks, features, log } = services
  app.get(
    '/tasks',
    described({
      method: 'GET',
      url: '/tasks',
      summary: 'List tasks, newest first',
      actions: ['tasks.get'],
      query: listParameters,
      answers: { 200: pageFrom(task) },
    }),
    async (request, reply) => {
      const { visibleIndexes } = await auth.require(request.headers.authorization, 'tasks.get')
      const query = readQuery(rawQuery(request), listParameters)
      raise(services, request, 'tasksSeen', taskFacts(query))
      return sendJson(reply, await tasks.list(taskFilter(query, visibleIndexes), query))
    },
  )

  app.get(
    '/tasks/:uid',
    described({
      method: 'GET',
      url: '/tasks/:uid',
      summary: 'Get one task',
      actions: ['tasks.get'],
      answers: { 200: task },
    }),
    async (request, reply) => {
      const { visibleIndexes } = await auth.require(request.headers.authorization, 'tasks.get')
      const uid = taskUid(request)
      const task = await tasks.get(uid, visibleIndexes)
      if (task === null) throw taskNotFound(uid)
      return sendJson(reply, task)
    },
  )

  app.get(
    '/tasks/:uid/documents',
    described({
      method: 'GET',
      url: '/tasks/:uid/documents',
      summary: 'Read the documents that an unfinished task holds',
      actions: ['tasks.get'],
      answers: { 200: text },
    }),
    async (request, reply) => {
      const { visibleIndexes } = await auth.require(request.headers.authorization, 'tasks.get')
      features.require('getTaskDocumentsRoute', 'reading the documents of a task')
      const uid = taskUid(request)
      if ((await tasks.get(uid, visibleIndexes)) === null) throw taskNotFound(uid)
      const lines = await tasks.documents(uid)
      if (lines === null) throw new ApiError('task_file_not_found', `task \`${uid}\` keeps no documents`)
      closeIfUnread(reply.raw, UNREAD_MS_MAX)
      return reply.type('application/x-ndjson').send(Readable.from(lines))
    },
  )

  app.post(
    '/tasks/cancel',
    described({
      method: 'POST',
      url: '/tasks/cancel',
      summary: 'Cancel unfinished tasks',
      actions: ['tasks.cancel'],
      query: filters,
      answers: { 200: taskSummary },
    }),
    async (request, reply) => {
      const access = await auth.require(request.headers.authorization, 'tasks.cancel')
      const { query, uids } = await matched(request, access.visibleIndexes)
      const content = { kind: 'taskCancelation', query, tasks: uids } as const
      return sendSummary(
        reply,
        await tasks.enqueue({ indexUid: null, type: 'taskCancelation', content }),
        200,
      )
    },
  )

  app.delete(
    '/tasks',
    described({
      method: 'DELETE',
      url: '/tasks',
      summary: 'Delete finished tasks',
      actions: ['tasks.delete'],
      query: filters,
      answers: { 200: taskSummary },
    }),
    async (request, reply) => {
      const access = await auth.require(request.headers.authorization, 'tasks.delete')
      const { query, uids } = await matched(request, access.visibleIndexes)
      const content = { kind: 'taskDeletion', query, tasks: uids } as const
      return sendSummary(reply, await tasks.enqueue({ indexUid: null, type: 'taskDeletion', content }), 200)
    },
  )

  app.post(
    '/tasks/compact',
    described({
      method: 'POST',
      url: '/tasks/compact',
      summary: 'Give back disk space that the queue no longer needs',
      actions: ['tasks.compact'],
      answers: { 200: compaction },
    }),
    async (request, reply) => {
      await auth.require(request.headers.authorization, 'tasks.compact')
      features.require('taskQueueCompactionRoute', 'compacting the task queue')
      try {
        const { bytesBefore, bytesAfter } = await tasks.compact()
        return sendJson(reply, {
          preSize: humanSize(bytesBefore),
          postSize: humanSize(bytesAfter),
          status: 'succeeded',
          actionRequired: 'none: the queue goes on',
        })
      } catch (error) {
        log.error({ err: error }, 'the task store could not be compacted')
        const errorMessage = error instanceof ApiError ? error.message : 'an internal error; see the log'
        return sendJson(reply, { status: 'failed', errorMessage }, 500)
      }
    },
  )

  app.get(
    '/batches',
    described({
      method: 'GET',
      url: '/batches',
      summary: 'List batches, newest first',
      actions: ['tasks.get'],
      query: listParameters,
      answers: { 200: pageFrom(batch) },
    }),
    async (request, reply) => {
      const { visibleIndexes } = await auth.require(request.headers.authorization, 'tasks.get')
      const query = readQuery(rawQuery(request), listParameters)
      return sendJson(reply, await tasks.batches(taskFilter(query, visibleIndexes), query))
    },
  )

  app.get(
    '/batches/:uid',
    described({
      method: 'GET',
      url: '/batches/:uid',
      summary: 'Get one batch',
      actions: ['tasks.get'],
      answers: { 200: batch },
    }),
    async (request, reply) => {
      const { visibleIndexes } = await auth.require(request.headers.authorization, 'tasks.get')
      const uid = u32.text(param(request, 'uid'), { path: '', code: 'invalid_batch_uids' })
      const batch = await tasks.batch(uid, visibleIndexes)
      if (batch === null) throw new ApiError('batch_not_found', `batch \`${uid}\` not found`)
      return sendJson(reply, batch)
    },
  )

  /** The tasks a cancel or delete request is about, frozen now. */
  async function matched(
    request: FastifyRequest,
    visibleIndexes: readonly string[] | null,
  ): Promise<{ query: string; uids: readonly number[] }> {
    const query = rawQuery(request)
    const wanted = readQuery(query, filters)
    if (Object.values(wanted).every((value) => value === undefined)) {
      const names = Object.keys(filters).map((name) => `\`${name}\``)
      throw new ApiError(
        'missing_task_filters',
        `at least one filter must be given, of: ${names.join(', ')}; \`uids=*\` means all tasks`,
      )
    }
    return { query: `?${query}`, uids: await tasks.match(taskFilter(wanted, visibleIndexes)) }
  }
}

function taskFilter(wanted: Values<typeof filters>, visibleIndexes: readonly string[] | null): TaskFilter {
  return {
    uids: wanted.uids ?? null,
    batchUids: wanted.batchUids ?? null,
    canceledBy: wanted.canceledBy ?? null,
    types: wanted.types ?? null,
    statuses: wanted.statuses ?? null,
    indexUids: wanted.indexUids ?? null,
    beforeEnqueuedAt: wanted.beforeEnqueuedAt ?? null,
    afterEnqueuedAt: wanted.afterEnqueuedAt ?? null,
    beforeStartedAt: wanted.beforeStartedAt ?? null,
    afterStartedAt: wanted.afterStartedAt ?? null,
    beforeFinishedAt: wanted.beforeFinishedAt ?? null,
    afterFinishedAt: wanted.afterFinishedAt ?? null,
    visibleIndexes,
  }
}

function taskUid(request: FastifyRequest): number {
  return u32.text(param(request, 'uid'), { path: '', code: 'invalid_task_uids' })
}

function taskNotFound(uid: number): ApiError {
  return new ApiError('task_not_found', `task \`${uid}\` not found`)
}
