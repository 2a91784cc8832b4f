import type { Timing } from '../interruptible-sleep.js'
import type { SenderSetup, Sending } from './sender-setup.js'

/** Removes garbage from the bucket from time to time, while changes are sent. */
export class Sweeper {
  readonly #setup: Pick<SenderSetup, 'outgoing' | 'log'>
  readonly #everyMs: number
  readonly #timing: Timing
  #sweptAt: number
  #sweeping: Promise<void> | null = null

  constructor(setup: Pick<SenderSetup, 'outgoing' | 'log'>, everyMs: number, timing: Timing) {
    this.#setup = setup
    this.#everyMs = everyMs
    this.#timing = timing
    this.#sweptAt = timing.now()
  }

  get isDue(): boolean {
    return this.#timing.now() - this.#sweptAt >= this.#everyMs
  }

  /** Begins a sweep, unless one is in progress. @param uploading names of uploads that no task references yet */
  begin(sending: Sending, uploading: ReadonlySet<string>, signal: AbortSignal): void {
    this.#sweptAt = this.#timing.now()
    this.#sweeping ??= this.#swept(sending, uploading, signal).finally(() => {
      this.#sweeping = null
    })
  }

  /** Resolves once no sweep is in progress. */
  async ended(): Promise<void> {
    await this.#sweeping
  }

  async #swept(
    { shipper, writer, garbage }: Sending,
    uploading: ReadonlySet<string>,
    signal: AbortSignal,
  ): Promise<void> {
    const { outgoing, log } = this.#setup
    try {
      // In this order, since an upload moves from the first set to the second when its task is stored.
      const uploads = new Set(uploading)
      for (const { name } of await outgoing.uploads.needed()) uploads.add(name)
      const removed = await garbage.sweep({ keys: shipper.references(), uploads, next: writer.next }, signal)
      if (removed > 0) log.info({ removed }, 'removed garbage from the bucket')
    } catch (error) {
      if (!signal.aborted) log.warn({ err: error }, 'garbage could not be removed from the bucket')
    }
  }
}
