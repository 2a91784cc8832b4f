/**
 * Finds indexes whose documents were analysed by other versions of dictionaries and rules than queries. Their searches
 * work but may miss documents until the index is analysed again.
 */
import { analysisChanges, type Engine, type IndexId } from '../engine/index.js'
import type { Tasks } from '../tasks/index.js'
import type { Logger } from '../telemetry/index.js'

/** Uids in a line of the log. */
const LOGGED_UIDS_MAX = 20

interface AnalysisWatchSetup {
  readonly engine: Pick<Engine, 'analysis' | 'onChange'>
  readonly tasks: Pick<Tasks, 'indexes' | 'enqueue'>
  readonly log: Logger
  /** True to analyse outdated indexes again. */
  readonly reindexes: boolean
}

export class AnalysisWatch {
  readonly #setup: AnalysisWatchSetup
  #outdated: ReadonlySet<IndexId> = new Set()
  readonly #listeners: ((count: number) => void)[] = []
  #isStopped = false

  constructor(setup: AnalysisWatchSetup) {
    this.#setup = setup
    setup.engine.onChange((id) => {
      if (this.#outdated.has(id) && !this.#isStopped) void this.count()
    })
  }

  /** The last result of `count`. */
  get lastCount(): number {
    return this.#outdated.size
  }

  /** Calls `listener` when `lastCount` has changed. */
  onCount(listener: (count: number) => void): void {
    this.#listeners.push(listener)
  }

  /** Checks all indexes, logs the outdated ones, and enqueues tasks for them if wanted. Never rejects. */
  async start(): Promise<void> {
    const { tasks, log, reindexes } = this.#setup
    try {
      const outdated: { readonly uid: string; readonly id: IndexId }[] = []
      for (const { uid, id } of tasks.indexes()) {
        if (this.#isStopped) return
        if (await this.#isOutdated(id)) outdated.push({ uid, id })
      }
      this.#set(new Set(outdated.map(({ id }) => id)))
      if (outdated.length === 0) return
      const indexes = outdated.slice(0, LOGGED_UIDS_MAX).map(({ uid }) => uid)
      const advice = reindexes ? 'they are analysed again now' : 'run siftd reindex --all'
      log.warn(
        { count: outdated.length, indexes },
        `indexes were analysed by another version and may miss documents: ${advice}`,
      )
      if (!reindexes) return
      for (const { uid } of outdated) {
        if (this.#isStopped) return
        await tasks.enqueue(reindexing(uid))
      }
    } catch (error) {
      if (!this.#isStopped)
        log.warn({ err: error }, 'the versions that analysed the indexes were not checked')
    }
  }

  /** Counts the indexes that were outdated at the start and still are. */
  async count(): Promise<number> {
    for (const id of this.#outdated)
      if (!(await this.#isOutdated(id)))
        this.#set(new Set([...this.#outdated].filter((other) => other !== id)))
    return this.#outdated.size
  }

  #set(outdated: ReadonlySet<IndexId>): void {
    const changes = outdated.size !== this.#outdated.size
    this.#outdated = outdated
    if (changes) for (const listener of this.#listeners) listener(outdated.size)
  }

  stop(): void {
    this.#isStopped = true
  }

  /** False for indexes that cannot be read; other checks report damage. */
  async #isOutdated(id: IndexId): Promise<boolean> {
    const analysis = await this.#setup.engine.analysis(id).catch(() => null)
    return analysis !== null && analysisChanges(analysis).length > 0
  }
}

/** A task that cuts all documents of an index into words again. */
export const reindexing = (indexUid: string) =>
  ({
    indexUid,
    type: 'settingsUpdate',
    content: {
      kind: 'settings',
      patch: '{}',
      details: '{}',
      isReset: false,
      mayCreateIndex: false,
      reanalyses: true,
    },
  }) as const
