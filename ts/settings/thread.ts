import { Worker } from 'node:worker_threads'
import { ApiError } from '../errors/index.js'
import type { SettingsFeatures } from './embedders.js'
import { INLINE_SETTINGS_CHARS_MAX, THREAD_IDLE_MS_MAX, THREAD_YOUNG_MB_MAX } from './limits.js'
import type { MergedSettings, ReadSettings, SettingsRequest } from './texts.js'
import { type AnswerMessage, type CallMessage, performed, type SettingsCall } from './thread-calls.js'
import type { SettingName } from './validate.js'

interface Waiting {
  resolve(value: unknown): void
  reject(error: Error): void
}

/**
 * Parses, merges and writes settings, large ones on a thread of its own.
 *
 * Ordinary settings are done at once. The thread begins with the first large ones and ends when it has been idle for a
 * while: what it took of the memory goes with it. It does one call after the other, so that many large bodies at once
 * take the memory of one.
 */
export class SettingsThread {
  readonly #waiting = new Map<number, Waiting>()
  #worker: Worker | null = null
  #calls = 0
  #idle: NodeJS.Timeout | undefined

  /**
   * As `readSettings`. A long body is handed over: its memory is not the caller's any more.
   * @throws ApiError the first mistake of the body, or `feature_not_enabled`
   */
  read(body: Uint8Array, request: SettingsRequest): Promise<ReadSettings> {
    return this.#done('read', [body, request], body.length, [body]) as Promise<ReadSettings>
  }

  /**
   * As `mergedSettings`.
   * @throws ApiError for what only shows against the current settings
   */
  merge(current: string | null, patch: string): Promise<MergedSettings> {
    const chars = patch.length + (current?.length ?? 0)
    return this.#done('merge', [current, patch], chars) as Promise<MergedSettings>
  }

  /** As `renderedSettings`. */
  render(current: string, name: SettingName | null, features: SettingsFeatures): Promise<string> {
    return this.#done('render', [current, name, features], current.length) as Promise<string>
  }

  /** Ends the thread, whatever it is doing. */
  async close(): Promise<void> {
    clearTimeout(this.#idle)
    await this.#worker?.terminate()
  }

  /** @param size bytes or characters that decide where it is done */
  async #done(
    call: SettingsCall,
    args: readonly unknown[],
    size: number,
    handedOver: readonly Uint8Array[] = [],
  ): Promise<unknown> {
    if (size <= INLINE_SETTINGS_CHARS_MAX) return performed({ call, args })
    clearTimeout(this.#idle)
    this.#worker ??= this.#start()
    const worker = this.#worker
    // Nothing else may keep the process alive until the answer.
    worker.ref()
    const id = ++this.#calls
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      worker.postMessage({ id, call, args } satisfies CallMessage, handedOver.flatMap(ownMemory))
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
    if (this.#waiting.size === 0) this.#rest()
    if (waiting === undefined) return
    if ('refusal' in message) waiting.reject(new ApiError(...message.refusal))
    else if ('fault' in message) waiting.reject(new Error(message.fault))
    else waiting.resolve(message.value)
  }

  /** Ends the thread unless there is a call soon. */
  #rest(): void {
    this.#worker?.unref()
    this.#idle = setTimeout(() => {
      const worker = this.#worker
      // A call from here on needs another thread.
      this.#worker = null
      void worker?.terminate()
    }, THREAD_IDLE_MS_MAX).unref()
  }

  /** A thread that fails tells so twice: by its error and by its end. */
  #ended(worker: Worker, reason: string): void {
    if (worker !== this.#worker) return
    this.#worker = null
    const lost = [...this.#waiting.values()]
    this.#waiting.clear()
    for (const { reject } of lost) reject(new Error(`the thread of settings ended: ${reason}`))
  }
}

/** The memory of bytes unless it is shared with others: small buffers lie in one of the platform's. */
const ownMemory = ({ buffer }: Uint8Array): ArrayBuffer[] =>
  buffer instanceof ArrayBuffer && buffer.byteLength > Buffer.poolSize ? [buffer] : []
