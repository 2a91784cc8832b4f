import { BUSY_PROGRESS_MS, COPY_PROGRESS_MS, IDLE_PROGRESS_MS } from './limits.js'
import type { Position } from './source.js'

interface CappedProgressSetup {
  /** Stores the progress in the target. */
  save(position: Position): Promise<void>
  /** Tells the database that changes before a position are stored. */
  confirm(position: Position): Promise<void>
  readonly position: Position
}

/** Stores the progress at most once per interval, and then confirms it to the database. */
export class CappedProgress {
  readonly #setup: CappedProgressSetup
  #position: Position
  #saved: Position | null = null
  /** True if documents have changed since the last save. */
  #isBusy = false
  #savedMs = 0
  #saving: Promise<void> | null = null
  /** Ends with the save that was started last. */
  #last: Promise<void> = Promise.resolve()
  #failure: unknown = null

  constructor(setup: CappedProgressSetup) {
    this.#setup = setup
    this.#position = setup.position
  }

  /** Notes that all changes before a position are in the target. Stores it in the background if that is due. */
  reached(position: Position, hasChanges: boolean): void {
    this.#position = position
    this.#isBusy ||= hasChanges
    this.ifDue().catch(() => undefined)
  }

  async ifDue(): Promise<void> {
    if (this.#failure !== null) throw this.#failure
    if (this.#saving !== null || this.#position === this.#saved) return
    if (Date.now() - this.#savedMs < (this.#isBusy ? BUSY_PROGRESS_MS : IDLE_PROGRESS_MS)) return
    this.#saving = this.#save()
      .catch((error: unknown) => {
        this.#failure = error
      })
      .finally(() => {
        this.#saving = null
      })
  }

  /** Stores other parts of the progress that have changed, unless that was done a moment ago. */
  async saveSoon(): Promise<void> {
    if (Date.now() - this.#savedMs >= COPY_PROGRESS_MS) await this.saveNow()
  }

  async saveNow(): Promise<void> {
    await this.#saving
    await this.#save()
  }

  /** Saves run one after another, so that an older save cannot replace a newer one. */
  #save(): Promise<void> {
    const saved = this.#last.then(() => this.#saveOnce())
    this.#last = saved.catch(() => undefined)
    return saved
  }

  async #saveOnce(): Promise<void> {
    const position = this.#position
    this.#isBusy = false
    this.#savedMs = Date.now()
    await this.#setup.save(position)
    this.#saved = position
    await this.#setup.confirm(position)
  }
}
