import { Readable } from 'node:stream'
import type { FastifyPluginAsync, FastifyReply } from 'fastify'
import { ApiError } from '../../errors/index.js'
import { jsonOf } from '../../requests/index.js'
import type { Page, TaskChange, TaskFilter, TaskPaging } from '../../tasks/index.js'
import { text } from '../answers/index.js'
import { ChangeStream, type ReadChanges } from '../following/index.js'
import { CHANGES_READ, UNREAD_MS_MAX } from '../limits.js'
import { type Call, serve } from '../operations/index.js'
import type { RouteServices } from '../route-services.js'
import { closeIfUnread } from '../transport/index.js'
import { listParameters, taskFilter } from './task-filters.js'

const actions = ['tasks.get'] as const
const stream = {
  method: 'GET',
  actions,
  query: listParameters,
  answers: { 200: text },
  answersAs: 'text/event-stream',
} as const
const streamOfTasks = { ...stream, url: '/tasks/stream', summary: 'Follow the changes of tasks' } as const
const streamOfBatches = {
  ...stream,
  url: '/batches/stream',
  summary: 'Follow the changes and the progress of batches',
} as const

/** What is followed: tasks or batches. */
interface Followed {
  readonly uidsIn: (change: TaskChange) => readonly number[]
  /** The name of the filter by their own uids. */
  readonly own: 'uids' | 'batchUids'
  readonly list: (
    filter: TaskFilter,
    paging: TaskPaging,
  ) => Promise<Page<{ readonly uid: number; readonly finishedAt: string | null }>>
  /** Whether they make progress that is not announced. */
  readonly makesProgress: boolean
}

/** Streams of the tasks and batches that change. */
export const taskStreamRoutes: FastifyPluginAsync<RouteServices> = async (app, services) => {
  const { auth, features, options, tasks } = services
  const streams = new Set<ChangeStream>()
  let isClosing = false

  serve(app, services, streamOfTasks, (call) =>
    follow(call, {
      uidsIn: ({ taskUids }) => taskUids,
      own: 'uids',
      list: (filter, paging) => tasks.list(filter, paging),
      makesProgress: false,
    }),
  )

  serve(app, services, streamOfBatches, (call) =>
    follow(call, {
      uidsIn: ({ batchUid }) => (batchUid === null ? [] : [batchUid]),
      own: 'batchUids',
      list: (filter, paging) => tasks.batches(filter, paging),
      makesProgress: true,
    }),
  )

  function follow(call: Call<typeof listParameters, undefined>, followed: Followed): FastifyReply {
    features.require('tasksStreamingRoute', 'streaming tasks and batches')
    if (streams.size >= options.changeStreamsMax) {
      const message = `${streams.size} streams of tasks and batches are open, the most there may be; close one, or ask \`GET /tasks\``
      throw new ApiError('too_many_requests', message)
    }
    const { reply } = call
    const stream = new ChangeStream(reader(call, followed))
    streams.add(stream)
    if (isClosing) stream.end()
    const stopListening = tasks.onChange((change) => stream.note(followed.uidsIn(change)))
    reply.raw.once('close', () => {
      stopListening()
      streams.delete(stream)
      stream.end()
    })
    closeIfUnread(reply.raw, UNREAD_MS_MAX)
    return reply
      .header('x-accel-buffering', 'no')
      .header('cache-control', 'no-store')
      .type('text/event-stream')
      .send(Readable.from(stream.events()))
  }

  /** Reads what has changed, for as long as the feature is on and the key of the request may see tasks. */
  function reader(
    { request, query }: Call<typeof listParameters, undefined>,
    { own, list, makesProgress }: Followed,
  ): ReadChanges {
    const { authorization } = request.headers
    return async (changed) => {
      const access = await auth.require(authorization, actions).catch(() => null)
      if (access === null || !features.flags.tasksStreamingRoute) return null
      const filter = taskFilter(query, access.visibleIndexes)
      const wanted = filter[own]
      const uids = wanted ? changed.filter((uid) => wanted.includes(uid)) : changed
      if (uids.length === 0) return { shown: [], next: null }
      const paging = { limit: CHANGES_READ, from: null, reverse: true }
      const { results, next } = await list({ ...filter, [own]: uids }, paging)
      const shown = results.map((one) => ({
        uid: one.uid,
        json: jsonOf(one),
        isRunning: makesProgress && one.finishedAt === null,
      }))
      return { shown, next }
    }
  }

  // An open stream would keep the server from closing.
  app.addHook('preClose', async () => {
    isClosing = true
    for (const stream of streams) stream.end()
  })
}
