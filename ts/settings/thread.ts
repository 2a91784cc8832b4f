import { Worker } from 'node:worker_threads'
import { ApiError } from '../errors/index.js'
import type { comparedSettings } from './comparison.js'
import type { SettingsFeatures } from './embedders.js'
import { INLINE_SETTINGS_CHARS_MAX, THREAD_IDLE_MS_MAX, THREAD_YOUNG_MB_MAX } from './limits.js'
import type { MergedSettings, ReadSettings, SettingsRequest } from './texts.js'
import { type AnswerMessage, type CallMessage, runCall, type SettingsCall } from './thread-calls.js'
import type { SettingName } from './validate.js'

interface Waiting {
  resolve(value: unknown): void
  reject(error: Error): void
}

/**
 * Parses, merges and writes settings, large ones on a separate thread.
 *
 * Ordinary settings are processed at once. The first large settings start the thread. It ends after a while without
 * calls, which frees its memory. It runs one call at a time, so several large bodies together take no more memory than
 * a single one.
 */
export class SettingsThread {
  readonly #waiting = new Map<number, Waiting>()
  #worker: Worker | null = null
  #calls = 0
  #idle: NodeJS.Timeout | undefined

  /**
   * See `readSettings`. A long body is transferred to the thread, so the caller cannot use it any more.
   * @throws ApiError for the first mistake of the body, or `feature_not_enabled`
   */
  read(body: Uint8Array, request: SettingsRequest): Promise<ReadSettings> {
    return this.#call('read', [body, request], body.length, [body]) as Promise<ReadSettings>
  }

  /**
   * See `mergedSettings`.
   * @throws ApiError for a conflict with the current settings
   */
  merge(current: string | null, patch: string): Promise<MergedSettings> {
    const chars = patch.length + (current?.length ?? 0)
    return this.#call('merge', [current, patch], chars) as Promise<MergedSettings>
  }

  /** See `renderedSettings`. */
  render(current: string, name: SettingName | null, features: SettingsFeatures): Promise<string> {
    return this.#call('render', [current, name, features], current.length) as Promise<string>
  }

  /** See `comparedSettings`. */
  compare(...given: Parameters<typeof comparedSettings>): Promise<string> {
    const [before, after] = given
    return this.#call('compare', given, (before?.length ?? 0) + after.length) as Promise<string>
  }

  /** Ends the thread, even during a call. */
  async close(): Promise<void> {
    clearTimeout(this.#idle)
    await this.#worker?.terminate()
  }

  /** Runs a call, on the thread if it is large. @param size bytes or characters of the arguments */
  async #call(
    call: SettingsCall,
    args: readonly unknown[],
    size: number,
    transferred: readonly Uint8Array[] = [],
  ): Promise<unknown> {
    if (size <= INLINE_SETTINGS_CHARS_MAX) return runCall({ call, args })
    clearTimeout(this.#idle)
    this.#worker ??= this.#start()
    const worker = this.#worker
    // Keep the process alive until the answer arrives.
    worker.ref()
    const id = ++this.#calls
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      worker.postMessage({ id, call, args } satisfies CallMessage, transferred.flatMap(ownMemory))
    })
  }

  #start(): Worker {
    const worker = new Worker(new URL('./thread-worker.js', import.meta.url), {
      resourceLimits: { maxYoungGenerationSizeMb: THREAD_YOUNG_MB_MAX },
    })
    worker.on('message', (message: AnswerMessage) => this.#answered(message))
    worker.on('error', (error) => this.#ended(worker, String(error)))
    worker.on('exit', (code) => this.#ended(worker, `it ended with code ${code}`))
    return worker
  }

  #answered(message: AnswerMessage): void {
    const waiting = this.#waiting.get(message.id)
    this.#waiting.delete(message.id)
    if (this.#waiting.size === 0) this.#endWhenIdle()
    if (waiting === undefined) return
    if ('refusal' in message) waiting.reject(new ApiError(...message.refusal))
    else if ('fault' in message) waiting.reject(new Error(message.fault))
    else waiting.resolve(message.value)
  }

  /** Ends the thread unless a call comes soon. */
  #endWhenIdle(): void {
    this.#worker?.unref()
    this.#idle = setTimeout(() => {
      const worker = this.#worker
      // A later call starts another thread.
      this.#worker = null
      void worker?.terminate()
    }, THREAD_IDLE_MS_MAX).unref()
  }

  /** Rejects the waiting calls of a thread that ended. A failing thread emits both `error` and `exit`. */
  #ended(worker: Worker, reason: string): void {
    if (worker !== this.#worker) return
    this.#worker = null
    const lost = [...this.#waiting.values()]
    this.#waiting.clear()
    for (const { reject } of lost) reject(new Error(`the settings thread ended: ${reason}`))
  }
}

/** Returns the memory of bytes if it is not shared: Node.js allocates small buffers from a shared pool. */
const ownMemory = ({ buffer }: Uint8Array): ArrayBuffer[] =>
  buffer instanceof ArrayBuffer && buffer.byteLength > Buffer.poolSize ? [buffer] : []
