import { Readable } from 'node:stream'
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import { ApiError } from '../../errors/index.js'
import {
  JsonText,
  jsonOf,
  requireTaskFilter,
  taskFilter,
  taskFilters,
  taskListFields,
  u32,
} from '../../operations/index.js'
import type { Page } from '../../tasks/index.js'
import { batch, compaction, pageFrom, sendJson, sendJsonBytes, task, text } from '../answers/index.js'
import { gathered, mergedByUid, passFiltered } from '../cells/index.js'
import { serveTask, waitParameter } from '../following/index.js'
import { recordUse, taskFacts } from '../metrics/index.js'
import { type Call, param, rawQuery, serve } from '../operations/index.js'
import { learnTask } from '../replicas/index.js'
import type { RouteServices } from '../route-services.js'
import { closeIfUnread } from '../transport/index.js'
import { humanSize } from '../views/index.js'

const ALL_TASKS = '`uids=*` means all tasks'

/** Tasks and the batches that ran them. */
export const taskRoutes: FastifyPluginAsync<RouteServices> = async (app, services) => {
  const { tasks, features, options, waits, log, replicated, cells = null } = services
  serve(
    app,
    services,
    {
      method: 'GET',
      url: '/tasks',
      summary: 'List tasks, newest first',
      actions: ['tasks.get'],
      query: taskListFields,
      answers: { 200: pageFrom(task) },
    },
    async ({ request, reply, access: { visibleIndexes }, query }) => {
      recordUse(services, request, 'tasksSeen', taskFacts(query))
      const own = tasks.list(taskFilter(query, visibleIndexes), query).then(pageJson)
      return sendJsonBytes(reply, await merged(request, '/tasks', own, query))
    },
  )

  serve(
    app,
    services,
    {
      method: 'GET',
      url: '/tasks/:uid',
      summary: 'Get one task',
      actions: ['tasks.get'],
      query: waitParameter,
      ignoresOthers: true,
      answers: { 200: task },
    },
    async ({ request, reply, access: { visibleIndexes }, query: { waitMs } }) => {
      const uid = taskUid(request)
      let task = await waits.wait(reply, uid, visibleIndexes, waitMs)
      if (task === null && replicated) {
        // A load balancer may send a client to a follower that has not read its write yet.
        const isKnown = async () => (await tasks.get(uid, visibleIndexes)) !== null
        const found = await learnTask(request, replicated, isKnown)
        if (found !== null) return reply.type('application/json').send(found)
        task = await waits.wait(reply, uid, visibleIndexes, waitMs)
      }
      if (task === null) throw taskNotFound(uid)
      return sendJsonBytes(reply, jsonOf(task))
    },
  )

  serve(
    app,
    services,
    {
      method: 'GET',
      url: '/tasks/:uid/documents',
      summary: 'Read the documents that an unfinished task holds',
      actions: ['tasks.get'],
      answers: { 200: text },
    },
    async ({ request, reply, access: { visibleIndexes } }) => {
      features.require('getTaskDocumentsRoute', 'reading the documents of a task')
      const uid = taskUid(request)
      if ((await tasks.get(uid, visibleIndexes)) === null) throw taskNotFound(uid)
      const lines = await tasks.documents(uid)
      if (lines === null) throw new ApiError('task_file_not_found', `task \`${uid}\` keeps no documents`)
      closeIfUnread(reply.raw, options.unreadMsMax)
      return reply.type('application/x-ndjson').send(Readable.from(lines))
    },
  )

  serveTask(
    app,
    services,
    {
      method: 'POST',
      url: '/tasks/cancel',
      summary: 'Cancel unfinished tasks',
      actions: ['tasks.cancel'],
      query: taskFilters,
      acceptedAs: 200,
    },
    async (call) => {
      recordUse(services, call.request, 'tasksCanceled', taskFacts(call.query))
      requireTaskFilter(call.query, ALL_TASKS)
      if (await passFiltered(call.request, call.reply, cells, call.query)) return { passed: call.reply }
      const content = { kind: 'taskCancelation', ...(await matched(call)) } as const
      return tasks.enqueue({ indexUid: null, type: 'taskCancelation', content })
    },
  )

  serveTask(
    app,
    services,
    {
      method: 'DELETE',
      url: '/tasks',
      summary: 'Delete finished tasks',
      actions: ['tasks.delete'],
      query: taskFilters,
      acceptedAs: 200,
    },
    async (call) => {
      recordUse(services, call.request, 'tasksDeleted', taskFacts(call.query))
      requireTaskFilter(call.query, ALL_TASKS)
      if (await passFiltered(call.request, call.reply, cells, call.query)) return { passed: call.reply }
      const content = { kind: 'taskDeletion', ...(await matched(call)) } as const
      return tasks.enqueue({ indexUid: null, type: 'taskDeletion', content })
    },
  )

  serve(
    app,
    services,
    {
      method: 'POST',
      url: '/tasks/compact',
      summary: 'Give back disk space that the queue no longer needs',
      actions: ['tasks.compact'],
      answers: { 200: compaction },
    },
    async ({ reply }) => {
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

  serve(
    app,
    services,
    {
      method: 'GET',
      url: '/batches',
      summary: 'List batches, newest first',
      actions: ['tasks.get'],
      query: taskListFields,
      answers: { 200: pageFrom(batch) },
    },
    async ({ request, reply, access: { visibleIndexes }, query }) => {
      const own = tasks.batches(taskFilter(query, visibleIndexes), query).then(pageJson)
      return sendJsonBytes(reply, await merged(request, '/batches', own, query))
    },
  )

  serve(
    app,
    services,
    {
      method: 'GET',
      url: '/batches/:uid',
      summary: 'Get one batch',
      actions: ['tasks.get'],
      answers: { 200: batch },
    },
    async ({ request, reply, access: { visibleIndexes } }) => {
      const uid = u32.text(param(request, 'uid'), { path: '', code: 'invalid_batch_uids' })
      const batch = await tasks.batch(uid, visibleIndexes)
      if (batch === null) throw new ApiError('batch_not_found', `batch \`${uid}\` not found`)
      return sendJsonBytes(reply, jsonOf(batch))
    },
  )

  /** Merges a page of this cell with those of the others. */
  async function merged(
    request: FastifyRequest,
    path: string,
    own: Promise<string>,
    paging: { readonly limit: number; readonly reverse: boolean },
  ): Promise<string> {
    const [page, others] = await Promise.all([
      own,
      gathered(request, services, `${path}?${rawQuery(request)}`),
    ])
    return others.length === 0 ? page : mergedByUid(page, others, paging)
  }

  /**
   * Returns the query string of a request to cancel or delete tasks, and the tasks that match it now. Tasks that match
   * later are not affected.
   */
  async function matched({
    request,
    access,
    query,
  }: Call<typeof taskFilters, undefined>): Promise<{ query: string; tasks: readonly number[] }> {
    const uids = await tasks.match(taskFilter(query, access.visibleIndexes))
    return { query: `?${rawQuery(request)}`, tasks: uids }
  }
}

/** Returns a page as JSON. Long details of its tasks or batches are JSON text already. */
const pageJson = ({ results, ...rest }: Page<object>): string =>
  jsonOf({ results: new JsonText(`[${results.map(jsonOf).join(',')}]`), ...rest })

function taskUid(request: FastifyRequest): number {
  return u32.text(param(request, 'uid'), { path: '', code: 'invalid_task_uids' })
}

function taskNotFound(uid: number): ApiError {
  return new ApiError('task_not_found', `task \`${uid}\` not found`)
}
