/** Routes that answer with a task: accepted just now, or finished while the request waited. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import { defaulted, type Fields, integer, jsonOf, type Schema, type Values } from '../../operations/index.js'
import type { Task, TaskSummary, Tasks } from '../../tasks/index.js'
import { endedWrite, sendJson, sendJsonBytes, taskSummary } from '../answers/index.js'
import { TASK_WAIT_MS_MAX } from '../limits.js'
import { type Call, type NoFields, type Operation, type ReadBody, serve } from '../operations/index.js'
import { disconnectOf, untilDisconnected } from '../searches/index.js'
import type { Services } from '../services.js'

/** Query parameter of every route that can wait for the end of a task, in milliseconds; 0: does not wait. */
export const waitParameter = {
  waitMs: defaulted(integer(TASK_WAIT_MS_MAX), 0, 'invalid_task_wait_ms'),
}

/** Requests that wait for tasks to finish. */
export class TaskWaits {
  readonly #tasks: Tasks
  readonly #waitsMax: number
  #waiting = 0

  /** @param waitsMax requests that wait at the same time */
  constructor(tasks: Tasks, waitsMax: number) {
    this.#tasks = tasks
    this.#waitsMax = waitsMax
  }

  /**
   * Returns the task when it has finished, `waitMs` have passed or the client disconnects. Returns it at once while too
   * many requests wait. null: there is no such task.
   */
  async wait(
    reply: FastifyReply,
    uid: number,
    visibleIndexes: readonly string[] | null,
    waitMs: number,
  ): Promise<Task | null> {
    if (waitMs === 0 || this.#waiting >= this.#waitsMax) return this.#tasks.get(uid, visibleIndexes)
    this.#waiting += 1
    try {
      return await untilDisconnected(disconnectOf(reply), (signal) =>
        this.#tasks.wait(uid, visibleIndexes, { waitMs, signal }),
      )
    } finally {
      this.#waiting -= 1
    }
  }
}

/** An operation that is answered with a task. */
interface TaskOperation<Q extends Fields, B> extends Omit<Operation<Q, B>, 'answers'> {
  /** The status of the answer while the task has not ended. Default: 202. */
  readonly acceptedAs?: 200 | 202
  /** Schema of the answer to requests that enqueue nothing. */
  readonly otherAnswer?: Schema
}

/** Another cell has answered the request. */
export interface Passed {
  readonly passed: FastifyReply
}

/** The JSON text of an answer to a request that enqueues nothing. */
export interface OtherAnswer {
  readonly json: string
}

/**
 * Adds a route that enqueues a task. With `waitMs` the request waits for the end of the task and gets the complete task
 * with status 200. Otherwise it gets the summary of the accepted task, or another answer if it enqueues nothing.
 * @param accept enqueues the task; null: the path does not exist, which is answered with 404
 */
export function serveTask<Q extends Fields = NoFields, S = undefined, B = S>(
  app: FastifyInstance,
  services: Pick<Services, 'auth' | 'options' | 'replicated'> & { readonly waits: TaskWaits },
  { acceptedAs = 202, otherAnswer, ...operation }: TaskOperation<Q, S>,
  accept: (call: Call<Q, B>) => Promise<TaskSummary | OtherAnswer | Passed | null>,
  read?: ReadBody<B>,
): void {
  const { query } = operation
  const answers: Record<number, Schema> =
    acceptedAs === 200
      ? { 200: { anyOf: [taskSummary, endedWrite] } }
      : {
          200: otherAnswer === undefined ? endedWrite : { anyOf: [endedWrite, otherAnswer] },
          202: taskSummary,
        }
  const withWait: Operation<Fields, S> = {
    ...operation,
    query: { ...query, ...waitParameter },
    // A route without query parameters of its own has always ignored its query string.
    ignoresOthers: operation.ignoresOthers ?? query === undefined,
    answers,
  }
  const handle = async ({ query, ...call }: Call<Fields, B>): Promise<FastifyReply> => {
    const { waitMs, ...asked } = query as Values<typeof waitParameter>
    const summary = await accept({ ...call, query: asked as Values<Q> })
    const { reply } = call
    if (summary === null) return reply.code(404).send()
    if ('passed' in summary) return summary.passed
    if ('json' in summary) return sendJsonBytes(reply, summary.json)
    const { taskUid } = summary
    const task = waitMs === 0 ? null : await services.waits.wait(reply, taskUid, null, waitMs)
    return task === null || task.finishedAt === null
      ? sendJson(reply, summary, acceptedAs)
      : sendJsonBytes(reply, jsonOf({ taskUid, ...task }))
  }
  serve(app, services, withWait, handle, { read })
}
