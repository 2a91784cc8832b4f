import type { Batch, BatchReport, IndexId, Prepared, StopSignal, VectorPage, WorkPage } from '../../engine.js'
import { type EngineWorker, ThreadEndedError } from './engine-worker.js'
import { flagged } from './stop-flag.js'

/** A batch that was prepared, as the thread knows it and as it can be prepared again. */
interface Known {
  readonly index: IndexId
  readonly batch: Batch
  prepared: Prepared
  /** How many threads had ended when it was prepared. */
  ends: number
}

/**
 * Batches survive the engine's thread.
 *
 * Preparing changes nothing, and a batch that is committed already is prepared as one with nothing left to do, so both
 * steps can be done again. They are, once: a batch during which the thread ends twice may be the reason of it.
 */
export class Batches {
  readonly #worker: EngineWorker
  readonly #known = new Map<number, Known>()
  #tickets = 0

  constructor(worker: EngineWorker) {
    this.#worker = worker
  }

  async prepare(index: IndexId, batch: Batch, stop?: StopSignal): Promise<Prepared> {
    const known = await flagged(stop, (flag) => this.#twice(() => this.#prepared(index, batch, flag)))
    const ticket = ++this.#tickets
    this.#known.set(ticket, known)
    return { index, ticket, work: known.prepared.work }
  }

  work(prepared: Prepared, from: string | null): Promise<WorkPage | null> {
    return this.#twice(async () => {
      const current = await this.#current(prepared)
      return (await this.#worker.call('work', [current, from])) as WorkPage | null
    })
  }

  async commit(prepared: Prepared, vectors: readonly VectorPage[]): Promise<BatchReport> {
    const uid = this.#known.get(prepared.ticket)?.batch.uid
    try {
      const report = await this.#commit(prepared, vectors)
      this.#worker.committed(prepared.index, report.batchUid, false)
      return report
    } catch (error) {
      if (uid !== undefined) this.#worker.committed(prepared.index, uid, true)
      throw error
    }
  }

  async #commit(prepared: Prepared, vectors: readonly VectorPage[]): Promise<BatchReport> {
    try {
      return await this.#twice(async () => {
        const current = await this.#current(prepared)
        return (await this.#worker.call('commit', [current, vectors])) as BatchReport
      })
    } catch (error) {
      if (!(error instanceof ThreadEndedError)) throw error
      // The thread may have ended after the commit was written.
      const last = (await this.#worker.call('lastCommit', [prepared.index])) as BatchReport | null
      if (last === null || last.batchUid !== this.#known.get(prepared.ticket)?.batch.uid) throw error
      return last
    } finally {
      this.#known.delete(prepared.ticket)
    }
  }

  async abandon(prepared: Prepared): Promise<void> {
    const known = this.#known.get(prepared.ticket)
    this.#known.delete(prepared.ticket)
    if (known !== undefined && known.ends === this.#worker.ends)
      await this.#worker.call('abandon', [known.prepared])
  }

  async #prepared(index: IndexId, batch: Batch, flag: readonly SharedArrayBuffer[] = []): Promise<Known> {
    const prepared = (await this.#worker.call('prepare', [index, batch, ...flag])) as Prepared
    return { index, batch, prepared, ends: this.#worker.ends }
  }

  /** The batch as the thread that runs now knows it. */
  async #current({ index, ticket }: Prepared): Promise<Prepared> {
    const known = this.#known.get(ticket)
    if (known === undefined) throw new Error(`index ${index} has no prepared batch ${ticket}`)
    if (known.ends !== this.#worker.ends) Object.assign(known, await this.#prepared(index, known.batch))
    return known.prepared
  }

  async #twice<T>(run: () => Promise<T>): Promise<T> {
    try {
      return await run()
    } catch (error) {
      if (error instanceof ThreadEndedError) return run()
      throw error
    }
  }
}
