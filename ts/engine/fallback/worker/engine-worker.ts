import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { BackgroundFaults } from '../../background-faults.js'
import { EngineError } from '../../engine-error.js'
import type { IndexId } from '../../index-id.js'
import type { FallbackOptions } from '../engine.js'
import { RESTART_PAUSE_MS } from '../limits.js'
import type { AnswerMessage, Call, CallMessage, FaultMessage } from './protocol.js'

/** The part of a logger that the fallback uses. */
export interface FallbackLog {
  debug?(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** The engine thread ended during a call: out of memory, or by a fault of ours. */
export class ThreadEndedError extends Error {
  override readonly name = 'ThreadEndedError'
}

interface Waiting {
  readonly call: Call
  /** Index or indexes of the call; undefined if it has none. */
  readonly index: unknown
  readonly resolve: (value: unknown) => void
  readonly reject: (error: Error) => void
}

/**
 * Sends calls to the engine thread and resolves them with its answers.
 *
 * If a thread ends, only its calls are lost: commits are in the files. The next call starts a new thread, but not
 * sooner than `RESTART_PAUSE_MS` after the last start.
 */
export class EngineWorker {
  readonly #options: FallbackOptions
  readonly #log: FallbackLog
  readonly #faults: BackgroundFaults
  readonly #waiting = new Map<number, Waiting>()
  /** Failed commits that a new thread must revert if they are on disk. */
  readonly #failedCommits = new Map<IndexId, number[]>()
  #worker: Worker | null
  #startedAt = 0
  #starting: Promise<Worker> | null = null
  #ends = 0
  #calls = 0
  #closing: Promise<void> | null = null

  constructor(options: FallbackOptions, log: FallbackLog, faults: BackgroundFaults) {
    this.#options = options
    this.#log = log
    this.#faults = faults
    this.#worker = this.#start()
  }

  /** Number of threads that have ended. A new thread does not know the state of its predecessor. */
  get ends(): number {
    return this.#ends
  }

  /** Number of unanswered calls. */
  get pending(): number {
    return this.#waiting.size
  }

  /** @throws ThreadEndedError */
  call(call: Call, args: readonly unknown[]): Promise<unknown> {
    if (this.#closing !== null) return Promise.reject(new ThreadEndedError('the engine is closed'))
    if (this.#worker !== null) return this.#send(this.#worker, call, args)
    this.#starting ??= this.#restart()
    return this.#starting.then((worker) => this.#send(worker, call, args))
  }

  /** Records the outcome of a commit. */
  committed(index: IndexId, batchUid: number, hasFailed: boolean): void {
    if (hasFailed) this.#failedCommits.set(index, [...(this.#failedCommits.get(index) ?? []), batchUid])
    else this.#failedCommits.delete(index)
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    const worker = (await this.#starting) ?? this.#worker
    if (worker === null) return
    await this.#send(worker, 'close', [])
    worker.ref()
    await worker.terminate()
  }

  #start(): Worker {
    this.#startedAt = performance.now()
    const workerData: FallbackOptions = { ...this.#options, failedCommits: this.#failedCommits }
    const worker = new Worker(new URL('./thread.js', import.meta.url), { workerData })
    worker.on('message', (message: AnswerMessage | FaultMessage) => {
      if ('fault' in message) this.#faults.report(message.fault)
      else this.#answered(message)
    })
    worker.on('error', (error) => this.#ended(worker, String(error)))
    worker.on('exit', (code) => this.#ended(worker, `it ended with code ${code}`))
    return worker
  }

  async #restart(): Promise<Worker> {
    await sleep(Math.max(0, this.#startedAt + RESTART_PAUSE_MS - performance.now()))
    this.#worker = this.#start()
    this.#starting = null
    return this.#worker
  }

  #send(worker: Worker, call: Call, args: readonly unknown[]): Promise<unknown> {
    const id = ++this.#calls
    // The thread keeps the process alive only while a call is unanswered.
    if (this.#waiting.size === 0) worker.ref()
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { call, index: indexOf(args), resolve, reject })
      worker.postMessage({ id, call, args } satisfies CallMessage)
    })
  }

  #answered(message: AnswerMessage): void {
    const waiting = this.#waiting.get(message.id)
    this.#waiting.delete(message.id)
    if (this.#waiting.size === 0) this.#worker?.unref()
    if (waiting === undefined) return
    if (message.ok) waiting.resolve(message.value)
    else if (message.code !== null) waiting.reject(new EngineError(message.code, message.message))
    else {
      const error = new Error(message.message)
      if (message.stack !== '') this.#log.error({ stack: message.stack }, 'the fallback engine failed')
      waiting.reject(error)
    }
  }

  /** A failing thread emits two events: `error` and `exit`. */
  #ended(worker: Worker, reason: string): void {
    if (worker !== this.#worker) return
    this.#worker = null
    this.#ends += 1
    const lost = [...this.#waiting.values()]
    this.#waiting.clear()
    const isExpected = this.#closing !== null && lost.length === 0
    if (!isExpected) {
      const calls = lost.map(({ call, index }) => ({ call, index }))
      this.#log.error(
        { reason, calls },
        'the thread of the fallback engine ended; the next call starts another',
      )
    }
    for (const { call, reject } of lost)
      reject(new ThreadEndedError(`the engine's thread ended during \`${call}\`: ${reason}`))
  }
}

/** Index of a call, for the log. */
function indexOf([first]: readonly unknown[]): unknown {
  if (Array.isArray(first)) return first.map(({ index }: { readonly index?: unknown }) => index)
  if (typeof first === 'object' && first !== null) return (first as { readonly index?: unknown }).index
  return first
}
