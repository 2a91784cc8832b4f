import { Worker } from 'node:worker_threads'
import { ApiError } from '../../errors/index.js'
import { RENDER_THREAD_IDLE_MS, RENDER_THREAD_MB_MAX, RENDERINGS_WAITING_MAX } from '../limits.js'
import type { RenderAnswer, RenderCall } from './render-calls.js'
import { type TemplateContext, TemplateError } from './templates.js'

interface Waiting {
  readonly call: RenderCall
  resolve(value: unknown): void
  reject(error: Error): void
}

/**
 * Renders templates for the render route, in its own thread and one at a time. This bounds memory and processor use,
 * and keeps the main thread free. The thread ends after an idle time.
 */
export class RenderThread {
  /** The first call is running. */
  readonly #calls: Waiting[] = []
  #worker: Worker | null = null
  #idle: NodeJS.Timeout | undefined
  #isClosed = false

  /** Parses every template of a fragment without running it. @throws TemplateError, ApiError `too_many_requests` */
  async check(fragment: unknown): Promise<void> {
    await this.#done({ kind: 'check', fragment })
  }

  /** Same as `renderFragment`. @throws TemplateError, ApiError `too_many_requests` */
  fragment(fragment: unknown, context: TemplateContext): Promise<unknown> {
    return this.#done({ kind: 'fragment', fragment, context })
  }

  /** Same as `renderText`. @throws TemplateError, ApiError `too_many_requests` */
  text(template: string, context: TemplateContext, bytesMax: number | null): Promise<unknown> {
    return this.#done({ kind: 'text', template, context, bytesMax })
  }

  /** Ends the thread, even during a call. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#idle)
    await this.#worker?.terminate()
  }

  #done(call: RenderCall): Promise<unknown> {
    if (this.#calls.length > RENDERINGS_WAITING_MAX)
      throw new ApiError(
        'too_many_requests',
        `${RENDERINGS_WAITING_MAX} renderings are waiting already; try again later`,
      )
    return new Promise((resolve, reject) => {
      this.#calls.push({ call, resolve, reject })
      if (this.#calls.length === 1) this.#runNext()
    })
  }

  #runNext(): void {
    const [next] = this.#calls
    if (next === undefined) {
      this.#rest()
      return
    }
    if (this.#isClosed) {
      this.#settle(({ reject }) => reject(new Error('the server stops')))
      return
    }
    clearTimeout(this.#idle)
    try {
      this.#worker ??= this.#start()
    } catch (error) {
      const failure = new Error('the rendering thread cannot be started', { cause: error })
      this.#settle(({ reject }) => reject(failure))
      return
    }
    // Keeps the process running until the answer arrives.
    this.#worker.ref()
    this.#worker.postMessage(next.call)
  }

  #start(): Worker {
    const worker = new Worker(new URL('./render-worker.js', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: RENDER_THREAD_MB_MAX },
    })
    worker.on('message', (answer: RenderAnswer) =>
      this.#settle(({ resolve, reject }) => {
        if ('failure' in answer) reject(new TemplateError(answer.failure.when, answer.failure.reason))
        else if ('fault' in answer) reject(new Error(answer.fault))
        else resolve(answer.value)
      }),
    )
    // A failing thread emits both events.
    worker.on('error', (error) => this.#ended(worker, error))
    worker.on('exit', (code) => this.#ended(worker, new Error(`it ended with code ${code}`)))
    return worker
  }

  /** Ends the running call and begins the next one. */
  #settle(end: (call: Waiting) => void): void {
    const call = this.#calls.shift()
    if (call !== undefined) end(call)
    this.#runNext()
  }

  /** Ends the thread after an idle time. */
  #rest(): void {
    this.#worker?.unref()
    this.#idle = setTimeout(() => {
      const worker = this.#worker
      // A later call starts another thread.
      this.#worker = null
      void worker?.terminate()
    }, RENDER_THREAD_IDLE_MS).unref()
  }

  #ended(worker: Worker, error: Error): void {
    if (worker !== this.#worker) return
    this.#worker = null
    const isOutOfMemory = (error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY'
    if (this.#calls.length > 0)
      this.#settle(({ reject }) =>
        reject(
          isOutOfMemory
            ? new TemplateError('rendering', `it takes more than ${RENDER_THREAD_MB_MAX} MB of memory`)
            : new Error(`the rendering thread ended: ${error.message}`),
        ),
      )
  }
}
