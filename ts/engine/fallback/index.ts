/** The engine without anything native: the same answers, slower, and the rules to read in plain code. */
import { Worker } from 'node:worker_threads'
import type { Answer, BareEngine, Engine, StopSignal } from '../engine.js'
import { EngineError } from '../engine-error.js'
import { guarding } from '../guarded.js'
import type { FallbackOptions } from './local-engine.js'
import type { AnswerMessage, Call, CallMessage } from './protocol.js'
import { StopFlag } from './stop-flag.js'

/** What `openFallback` needs of a logger. */
export interface FallbackLog {
  error(fields: object, message: string): void
}

interface Waiting {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: Error) => void
}

/** Sends calls to the worker and hands out its answers. */
class EngineWorker {
  private readonly worker: Worker
  private readonly waiting = new Map<number, Waiting>()
  private readonly log: FallbackLog
  private calls = 0
  /** Why no call can succeed any more. */
  private ended: Error | null = null
  private closing: Promise<void> | null = null

  constructor(options: FallbackOptions, log: FallbackLog) {
    this.log = log
    this.worker = new Worker(new URL('./worker.js', import.meta.url), { workerData: options })
    this.worker.on('message', (message: AnswerMessage) => this.answered(message))
    this.worker.on('error', (error) => this.end(error))
    this.worker.on('exit', (code) => this.end(new Error(`the engine's thread ended with code ${code}`)))
  }

  call(call: Call, args: readonly unknown[]): Promise<unknown> {
    if (this.ended !== null) return Promise.reject(this.ended)
    const id = ++this.calls
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject })
      this.worker.postMessage({ id, call, args } satisfies CallMessage)
    })
  }

  close(): Promise<void> {
    this.closing ??= this.call('close', []).then(async () => {
      await this.worker.terminate()
    })
    return this.closing
  }

  private answered(message: AnswerMessage): void {
    const waiting = this.waiting.get(message.id)
    this.waiting.delete(message.id)
    if (waiting === undefined) return
    if (message.ok) waiting.resolve(message.value)
    else if (message.code !== null) waiting.reject(new EngineError(message.code, message.message))
    else {
      const error = new Error(message.message)
      this.log.error({ stack: message.stack }, 'the fallback engine failed')
      waiting.reject(error)
    }
  }

  private end(error: Error): void {
    if (this.ended !== null) return
    this.ended = error
    if (this.closing === null) this.log.error({ err: error }, 'the thread of the fallback engine ended')
    for (const { reject } of this.waiting.values()) reject(error)
    this.waiting.clear()
  }
}

const isStopSignal = (value: unknown): value is StopSignal =>
  typeof value === 'object' && value !== null && 'addEventListener' in value

/** Opens the engine over all indexes below `directory`, which is made if missing. */
export function openFallback({
  directory,
  log,
}: FallbackOptions & { readonly log: FallbackLog }): Promise<Engine> {
  const worker = new EngineWorker({ directory }, log)
  const forward =
    <C extends Call>(call: C) =>
    (...args: Parameters<BareEngine[C]>): ReturnType<BareEngine[C]> =>
      // The worker runs the same interface, so its answer has the type of the call.
      worker.call(call, args) as ReturnType<BareEngine[C]>
  /** A signal cannot cross to the worker; a flag in shared memory can be set while it works. */
  const stoppable =
    <C extends 'search' | 'multiSearch'>(call: C) =>
    async (...args: Parameters<BareEngine[C]>): Promise<Answer> => {
      const stop: unknown = args.at(-1)
      if (!isStopSignal(stop)) return (await worker.call(call, args)) as Answer
      const flag = new StopFlag()
      const giveUp = (): void => flag.set()
      if (stop.aborted) giveUp()
      stop.addEventListener('abort', giveUp)
      try {
        return (await worker.call(call, [...args.slice(0, -1), flag.memory])) as Answer
      } finally {
        stop.removeEventListener('abort', giveUp)
      }
    }
  const bare: BareEngine = {
    kind: 'fallback',
    inspect: forward('inspect'),
    checkFilter: forward('checkFilter'),
    prepare: forward('prepare'),
    work: forward('work'),
    commit: forward('commit'),
    progress: forward('progress'),
    abandon: forward('abandon'),
    lastCommit: forward('lastCommit'),
    settings: forward('settings'),
    search: stoppable('search'),
    multiSearch: stoppable('multiSearch'),
    facetSearch: (index, request) => forward('facetSearch')(index, request),
    similar: forward('similar'),
    documents: forward('documents'),
    document: forward('document'),
    stats: forward('stats'),
    sizes: forward('sizes'),
    fields: forward('fields'),
    snapshot: forward('snapshot'),
    verify: forward('verify'),
    drop: forward('drop'),
    list: forward('list'),
    close: () => worker.close(),
  }
  return Promise.resolve(guarding(bare, log))
}
