import type { Connection } from './driver.js'
import { SEQUENCES } from './mark.js'

/** Result of one call in a transaction. */
export type Settled<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: unknown }

/** Rows that are kept in memory during a transaction. */
interface BufferedRows {
  /** Current position, for `undo`. */
  readonly mark: number
  /** Undoes the changes since a mark. */
  undo(mark: number): void
  /** Writes the changes of the transaction. */
  flush(): void
}

/** Records what transactions change. */
interface ChangeRecorder {
  /** Called before a transaction is committed. */
  collect(): void
  /** Called when all transactions so far are synced. */
  synced(): void
}

interface TransactionsSetup {
  /** Number of the last durable transaction. */
  readonly sequence: number
  /** Schema version of the store. */
  readonly version: number
  /** Called with the number of each later durable transaction once it is synced. */
  readonly reached: (sequence: number) => void
}

/** Runs calls of a store as transactions, and counts the durable ones. */
export class Transactions {
  readonly #connection: Connection
  readonly #sets: BufferedRows
  readonly #reached: (sequence: number) => void
  readonly #outbox: ChangeRecorder | null
  readonly #version: number
  #sequence: number

  /**
   * @param outbox keeps the row changes of each transaction; null: they are not kept
   */
  constructor(
    connection: Connection,
    sets: BufferedRows,
    outbox: ChangeRecorder | null,
    { sequence, version, reached }: TransactionsSetup,
  ) {
    this.#connection = connection
    this.#sets = sets
    this.#outbox = outbox
    this.#sequence = sequence
    this.#version = version
    this.#reached = reached
  }

  /** Number of the last durable transaction. */
  get sequence(): number {
    return this.#sequence
  }

  /**
   * Runs `calls` as one transaction with one sync. A call that fails is rolled back alone. If the transaction itself
   * fails, for example because the disk is full, all calls fail.
   * @param durable true to return only when the changes survive a power cut
   */
  run<T>(calls: readonly (() => T)[], durable: boolean): readonly Settled<T>[] {
    const settled = this.#transact(calls, durable)
    // A synced transaction makes all earlier ones durable too.
    if (durable && settled.some(({ ok }) => ok)) this.#outbox?.synced()
    return settled
  }

  #transact<T>(calls: readonly (() => T)[], durable: boolean): readonly Settled<T>[] {
    const connection = this.#connection
    const isAlone = calls.length === 1
    // In write-ahead mode this only skips the final sync of the log. Checkpoints still sync.
    if (!durable) connection.exec('PRAGMA synchronous = NORMAL')
    try {
      connection.exec('BEGIN IMMEDIATE')
      const settled = calls.map((call): Settled<T> => {
        const mark = this.#sets.mark
        if (!isAlone) connection.exec('SAVEPOINT call')
        try {
          const value = call()
          if (!isAlone) connection.exec('RELEASE call')
          return { ok: true, value }
        } catch (error) {
          if (isAlone) throw error
          this.#sets.undo(mark)
          this.#undoCall(error)
          return { ok: false, error }
        }
      })
      this.#sets.flush()
      this.#outbox?.collect()
      const sequence = (this.#sequence + 1) % SEQUENCES
      if (durable) connection.exec(`PRAGMA application_id = ${sequence}`)
      connection.exec('COMMIT')
      if (durable) {
        this.#sequence = sequence
        this.#reached(sequence)
      }
      return settled
    } catch (error) {
      this.#sets.undo(0)
      try {
        connection.exec('ROLLBACK')
      } catch {
        // SQLite has already rolled back, as it does on a full disk. Each call gets the first error.
      }
      return calls.map(() => ({ ok: false, error }))
    } finally {
      if (!durable) connection.exec('PRAGMA synchronous = FULL')
    }
  }

  /**
   * Overwrites frames of a transaction whose sync failed with an empty transaction. Otherwise a restart could treat
   * these frames as durable.
   * @returns false if this transaction fails too
   */
  supersede(): boolean {
    // Does not report earlier transactions as synced: the failed sync may have lost them.
    const written = this.#transact([() => this.#writeSameVersion()], true)
    return written.every(({ ok }) => ok)
  }

  /** Writes a page without changing anything. */
  #writeSameVersion(): void {
    this.#connection.exec(`PRAGMA user_version = ${this.#version}`)
  }

  /** @throws `error`, the reason why the call failed, if SQLite has rolled back the complete transaction */
  #undoCall(error: unknown): void {
    try {
      this.#connection.exec('ROLLBACK TO call; RELEASE call')
    } catch {
      throw error
    }
  }
}
