import type { Batch, BatchReport, Prepared, VectorPage, WorkPage } from '../../batches.js'
import type { StopSignal } from '../../engine.js'
import type { IndexId } from '../../index-id.js'
import { type EngineWorker, ThreadEndedError } from './engine-worker.js'
import { flagged } from './stop-flag.js'

/** A prepared batch: its handle in the current thread, and the data to prepare it again. */
interface Preparation {
  readonly index: IndexId
  readonly batch: Batch
  prepared: Prepared
  /** Number of threads that had ended when it was prepared. */
  ends: number
}

/**
 * Lets batches survive the end of the engine thread.
 *
 * Preparing changes nothing, and preparing a batch that is already committed does nothing, so both steps can be
 * repeated. They are repeated only once: a batch during which the thread ends twice may be the cause.
 */
export class Batches {
  readonly #worker: EngineWorker
  readonly #preparations = new Map<number, Preparation>()
  #tickets = 0

  constructor(worker: EngineWorker) {
    this.#worker = worker
  }

  async prepare(index: IndexId, batch: Batch, stop?: StopSignal): Promise<Prepared> {
    const known = await flagged(stop, (flag) => this.#retryOnce(() => this.#prepared(index, batch, flag)))
    const ticket = ++this.#tickets
    this.#preparations.set(ticket, known)
    return { index, ticket, work: known.prepared.work }
  }

  work(prepared: Prepared, from: string | null): Promise<WorkPage | null> {
    return this.#retryOnce(async () => {
      const current = await this.#current(prepared)
      return (await this.#worker.call('work', [current, from])) as WorkPage | null
    })
  }

  async commit(prepared: Prepared, vectors: readonly VectorPage[]): Promise<BatchReport> {
    const uid = this.#preparations.get(prepared.ticket)?.batch.uid
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
      return await this.#retryOnce(async () => {
        const current = await this.#current(prepared)
        return (await this.#worker.call('commit', [current, vectors])) as BatchReport
      })
    } catch (error) {
      if (!(error instanceof ThreadEndedError)) throw error
      // The thread may have ended after the commit was written.
      const last = (await this.#worker.call('lastCommit', [prepared.index])) as BatchReport | null
      if (last === null || last.batchUid !== this.#preparations.get(prepared.ticket)?.batch.uid) throw error
      return last
    } finally {
      this.#preparations.delete(prepared.ticket)
    }
  }

  async abandon(prepared: Prepared): Promise<void> {
    const known = this.#preparations.get(prepared.ticket)
    this.#preparations.delete(prepared.ticket)
    if (known !== undefined && known.ends === this.#worker.ends)
      await this.#worker.call('abandon', [known.prepared])
  }

  async #prepared(
    index: IndexId,
    batch: Batch,
    flag: readonly SharedArrayBuffer[] = [],
  ): Promise<Preparation> {
    const prepared = (await this.#worker.call('prepare', [index, batch, ...flag])) as Prepared
    return { index, batch, prepared, ends: this.#worker.ends }
  }

  /** The handle of a batch in the current thread. */
  async #current({ index, ticket }: Prepared): Promise<Prepared> {
    const known = this.#preparations.get(ticket)
    if (known === undefined) throw new Error(`index ${index} has no prepared batch ${ticket}`)
    if (known.ends !== this.#worker.ends) Object.assign(known, await this.#prepared(index, known.batch))
    return known.prepared
  }

  async #retryOnce<T>(run: () => Promise<T>): Promise<T> {
    try {
      return await run()
    } catch (error) {
      if (error instanceof ThreadEndedError) return run()
      throw error
    }
  }
}
