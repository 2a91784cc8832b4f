import { closeSync, mkdtempSync, rmSync } from 'node:fs'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { engineSharing, reasonOf } from '../../engine/index.js'
import type { LoopFigures, OtherLoops } from '../loop-figures.js'
import type { QueryStatistics } from '../queries/index.js'
import type { Services } from '../services.js'
import { EARLY_MS, END_MS_MAX, RESTART_MS_MAX, RESTART_MS_MIN, SOCKET_PATH_BYTES_MAX } from './limits.js'
import { type ListenAt, SharedSockets } from './listening.js'
import type { LoopReport, LoopRequest, LoopSetup } from './messages.js'
import { replayUsage } from './outbox.js'
import { StatePublisher } from './publisher.js'

interface HttpLoopsStart {
  readonly address: ListenAt
  /** Its options are those of each thread, with its share of the limits. */
  readonly services: Pick<
    Services,
    'engine' | 'tasks' | 'auth' | 'features' | 'options' | 'outlets' | 'usage' | 'faults' | 'log'
  >
  /** null: queries are not counted. */
  readonly statistics: QueryStatistics | null
  readonly masterKey: string | null
  /** Of each thread. */
  readonly answerCacheBytes: number
  /** Receives the connections of the main thread. */
  readonly accept: (socket: Socket) => void
}

/** A thread that answers searches. */
interface Loop {
  readonly worker: Worker
  /** Settles calls for figures by number. */
  readonly calls: Map<number, (figures: LoopFigures | null) => void>
  readonly startedAt: number
  /** Resolves when the thread listens or has ended. */
  readonly listening: Promise<void>
  readonly ended: Promise<void>
  /** The last known figures. */
  figures: LoopFigures | null
}

/**
 * Threads that accept connections and answer searches next to the main thread.
 *
 * All threads listen on the same sockets and search in the engine of this process. They hand every request that they
 * cannot answer to the main thread, over a socket in a directory that only this user can read. Once all threads listen,
 * the main thread accepts no connections itself. A thread that ends is replaced.
 */
export class HttpLoops implements OtherLoops {
  readonly #threads: number
  readonly #directory = mkdtempSync(join(tmpdir(), 'siftd-http-'))
  readonly #loops = new Set<Loop>()
  /** Counts of threads that have ended. */
  readonly #ended: LoopFigures[] = []
  #start: HttpLoopsStart | null = null
  #publisher: StatePublisher | null = null
  #sockets: SharedSockets | null = null
  #isStopping = false
  #calls = 0
  /** Threads that were started so far. */
  #started = 0
  /** Number by which threads attach to the engine. */
  #engine = 0
  #earlyEnds = 0

  /** @param threads number of threads that answer searches */
  constructor(threads: number) {
    this.#threads = threads
    if (Buffer.byteLength(this.mainPath) > SOCKET_PATH_BYTES_MAX)
      throw new Error(`the path ${this.mainPath} is too long for a socket`)
  }

  /** The path that the main thread must listen on before `start`. */
  get mainPath(): string {
    return join(this.#directory, 'main')
  }

  /**
   * Listens, and starts the threads.
   * @returns the port
   * @throws Error of the system if the address cannot be listened on
   */
  async start(start: HttpLoopsStart): Promise<number> {
    const { duplicateDescriptor } = await engineSharing()
    this.#sockets = await SharedSockets.listen(start.address, start.accept, duplicateDescriptor)
    const { port } = this.#sockets
    this.#start = start
    this.#engine = start.services.engine.publish!()
    this.#publisher = new StatePublisher(start.services)
    const loops = Array.from({ length: this.#threads }, () => this.#startLoop())
    void Promise.all(loops.map(({ listening }) => listening)).then(() => {
      if (this.#isStopping || this.#loops.size === 0) return
      this.#sockets?.release()
      start.services.log.info({ threads: this.#loops.size }, 'threads answer searches')
    })
    return port
  }

  async figures(): Promise<readonly LoopFigures[]> {
    const current = await Promise.all([...this.#loops].map((loop) => this.#figuresOf(loop)))
    return [...current, ...this.#ended].filter((figures) => figures !== null)
  }

  /** Refuses connections, waits up to `ms` for running requests, and ends the threads. */
  async stop(ms: number): Promise<void> {
    this.#isStopping = true
    this.#sockets?.close()
    await Promise.all(
      [...this.#loops].map(async ({ worker, ended }) => {
        worker.postMessage({ kind: 'stop', ms } satisfies LoopRequest)
        const late = setTimeout(() => void worker.terminate(), ms + END_MS_MAX)
        await ended
        clearTimeout(late)
      }),
    )
    this.#publisher?.close()
    rmSync(this.#directory, { recursive: true, force: true })
  }

  #figuresOf(loop: Loop): Promise<LoopFigures | null> {
    const call = ++this.#calls
    return new Promise((resolve) => {
      loop.calls.set(call, resolve)
      loop.worker.postMessage({ kind: 'figures', call } satisfies LoopRequest)
    })
  }

  #startLoop(): Loop {
    const { address, masterKey, answerCacheBytes, services } = this.#start!
    const { features, outlets, usage, options } = services
    const sockets = this.#sockets!.duplicates()
    const changes = this.#publisher!.subscribe()
    const workerData: LoopSetup = {
      number: ++this.#started,
      engine: this.#engine,
      sockets,
      backlog: address.backlog,
      mainPath: this.mainPath,
      changes,
      version: this.#publisher!.version,
      masterKey,
      ruleBudgets: features.ruleBudgets,
      options,
      answerCacheBytes,
      countsUse: usage.isOpen,
      logForm: outlets.form,
    }
    const worker = startWorker(workerData)
    let hasListened = false
    let fault: unknown = null
    const calls: Loop['calls'] = new Map()
    let listens = (): void => undefined
    let ends = (): void => undefined
    const loop: Loop = {
      worker,
      calls,
      startedAt: performance.now(),
      listening: new Promise((resolve) => {
        listens = resolve
      }),
      ended: new Promise((resolve) => {
        ends = resolve
      }),
      figures: null,
    }
    this.#loops.add(loop)
    worker.on('message', (report: LoopReport) => {
      if (report.kind === 'listening') {
        hasListened = true
        listens()
      } else this.#receive(loop, report)
    })
    worker.once('error', (error) => {
      fault = error
    })
    worker.once('exit', () => {
      this.#loops.delete(loop)
      if (!hasListened) for (const socket of sockets) closeIfOpen(socket)
      for (const settle of calls.values()) settle(null)
      if (loop.figures !== null) this.#ended.push({ ...loop.figures, running: 0, waiting: 0, waitingMax: 0 })
      listens()
      ends()
      if (!this.#isStopping) this.#replace(loop, fault)
    })
    return loop
  }

  #receive(loop: Loop, report: Exclude<LoopReport, { readonly kind: 'listening' }>): void {
    const { services, statistics } = this.#start!
    const { outlets, usage } = services
    if (report.kind === 'figures') {
      loop.figures = report.figures
      loop.calls.get(report.call)?.(report.figures)
      loop.calls.delete(report.call)
      return
    }
    outlets.pass(report.lines)
    for (const search of report.queries) statistics?.add(search)
    for (const call of report.usage) replayUsage(usage, call)
  }

  /** Replaces a thread that has ended. Meanwhile the others take its connections. */
  #replace({ startedAt }: Loop, error: unknown): void {
    this.#report(error, 'a thread that answers searches has ended; it is replaced')
    this.#earlyEnds = performance.now() - startedAt < EARLY_MS ? this.#earlyEnds + 1 : 0
    this.#startLater()
  }

  /** Starts a thread after a pause. Tries again if the system refuses it, such as for want of file descriptors. */
  #startLater(): void {
    const pause = Math.min(RESTART_MS_MAX, RESTART_MS_MIN * 2 ** this.#earlyEnds)
    setTimeout(() => {
      if (this.#isStopping) return
      try {
        this.#startLoop()
      } catch (error) {
        this.#report(error, 'a thread that answers searches cannot be started; another try follows')
        this.#earlyEnds++
        this.#startLater()
      }
    }, pause).unref()
  }

  #report(error: unknown, message: string): void {
    const { faults, log } = this.#start!.services
    log.error({ err: error }, message)
    faults.report({ kind: 'http_thread', index: null, file: '', reason: reasonOf(error) })
  }
}

/** @throws Error of the system; the descriptors and the port of `setup` are closed then */
function startWorker(setup: LoopSetup): Worker {
  try {
    return new Worker(new URL('./http-worker.js', import.meta.url), {
      workerData: setup,
      name: 'siftd-http',
      transferList: [setup.changes],
    })
  } catch (error) {
    for (const socket of setup.sockets) closeIfOpen(socket)
    setup.changes.close()
    throw error
  }
}

function closeIfOpen(descriptor: number): void {
  try {
    closeSync(descriptor)
  } catch {
    // The thread closed it.
  }
}
