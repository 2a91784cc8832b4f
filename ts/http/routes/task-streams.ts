import type { FastifyPluginAsync, FastifyReply } from 'fastify'
import { ApiError } from '../../errors/index.js'
import { jsonOf, taskFilter, taskListFields } from '../../operations/index.js'
import type { Page, TaskChange, TaskFilter, TaskPaging } from '../../tasks/index.js'
import { text } from '../answers/index.js'
import { ChangeStream, type ChangesPage, eventOf, type ReadChanges, SharedReads } from '../following/index.js'
import { CHANGES_READ, STREAMS_OF_KEY_SHARE } from '../limits.js'
import { type Call, serve } from '../operations/index.js'
import type { RouteServices } from '../route-services.js'
import { sendEvents } from '../transport/index.js'

const actions = ['tasks.get'] as const
const stream = {
  method: 'GET',
  actions,
  query: taskListFields,
  answers: { 200: text },
  answersAs: 'text/event-stream',
} as const
const streamOfTasks = { ...stream, url: '/tasks/stream', summary: 'Follow the changes of tasks' } as const
const streamOfBatches = {
  ...stream,
  url: '/batches/stream',
  summary: 'Follow the changes and the progress of batches',
} as const

/** The kind of item that a stream follows: tasks or batches. */
interface StreamKind {
  readonly uidsIn: (change: TaskChange) => readonly number[]
  /** The name of the filter by their own uids. */
  readonly own: 'uids' | 'batchUids'
  readonly list: (
    filter: TaskFilter,
    paging: TaskPaging,
  ) => Promise<Page<{ readonly uid: number; readonly finishedAt: string | null }>>
  /** True if they make progress without a notification. */
  readonly makesProgress: boolean
}

/** Streams changes of tasks and batches. */
export const taskStreamRoutes: FastifyPluginAsync<RouteServices> = async (app, services) => {
  const { auth, features, options, tasks } = services
  /** The key holder of each stream. */
  const streams = new Map<ChangeStream, string>()
  const reads = new SharedReads<ChangesPage>()
  let isClosing = false

  // Register before any stream, so that old reads are cleared before a stream learns of a change.
  const stopClearing = tasks.onChange(() => reads.clear())

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

  function follow(call: Call<typeof taskListFields, undefined>, kind: StreamKind): FastifyReply {
    features.require('tasksStreamingRoute', 'streaming tasks and batches')
    const { reply, access } = call
    requireStreamSlot(access.holder)
    const stream = new ChangeStream(reader(call, kind))
    streams.set(stream, access.holder)
    if (isClosing) stream.end()
    const wanted = call.query[kind.own]
    const isWanted = wanted ? new Set(wanted) : null
    const stopListening = tasks.onChange((change) => {
      const uids = kind.uidsIn(change)
      stream.note(isWanted === null ? uids : uids.filter((uid) => isWanted.has(uid)))
    })
    reply.raw.once('close', () => {
      stopListening()
      streams.delete(stream)
      stream.end()
    })
    return sendEvents(reply, stream.events(), options.unreadMsMax)
  }

  /** @throws ApiError if there are too many streams in total or of this key */
  function requireStreamSlot(holder: string): void {
    const { changeStreamsMax } = options
    const own = [...streams.values()].filter((one) => one === holder).length
    const ownMax = Math.ceil(changeStreamsMax * STREAMS_OF_KEY_SHARE)
    // Without a master key there are no other clients to protect.
    const isFull = own >= ownMax && holder !== 'anyone'
    if (streams.size < changeStreamsMax && !isFull) return
    const open = isFull
      ? `this key has ${own} open streams of tasks and batches, the maximum for one key`
      : `${streams.size} streams of tasks and batches are open, the maximum`
    throw new ApiError('too_many_requests', `${open}; close one, or poll \`GET /tasks\``)
  }

  /** Reads changes while the feature is on and the key of the request may see tasks. */
  function reader(
    { request, query }: Call<typeof taskListFields, undefined>,
    { own, list, makesProgress }: StreamKind,
  ): ReadChanges {
    const { authorization } = request.headers
    return async (changed) => {
      const access = await auth.require(authorization, actions).catch(() => null)
      if (access === null || !features.flags.tasksStreamingRoute) return null
      if (changed.length === 0) return { items: [], next: null, text: Buffer.alloc(0) }
      const filter = { ...taskFilter(query, access.visibleIndexes), [own]: changed }
      return reads.read(JSON.stringify([own, filter]), !makesProgress, async () => {
        const paging = { limit: CHANGES_READ, from: null, reverse: true }
        const { results, next } = await list(filter, paging)
        const items = results.map((one) => ({
          uid: one.uid,
          json: jsonOf(one),
          isRunning: makesProgress && one.finishedAt === null,
        }))
        return { items, next, text: Buffer.from(items.map(eventOf).join('')) }
      })
    }
  }

  // An open stream would prevent shutdown.
  app.addHook('preClose', async () => {
    isClosing = true
    stopClearing()
    for (const stream of streams.keys()) stream.end()
  })
}
