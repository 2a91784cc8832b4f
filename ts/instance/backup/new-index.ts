/** Creates an index from NDJSON documents with vectors. */
import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, open, rm, stat } from 'node:fs/promises'
import type { Batch, BatchReport, Engine, IndexId, Operation } from '../../engine/index.js'
import { RESTORED_BATCH_UIDS } from '../../tasks/index.js'
import { COMMIT_BYTES } from './limits.js'

interface NewIndexSetup {
  readonly engine: Engine
  /** The name of the index. */
  readonly uid: string
  /** Aborting it makes the work reject soon with the reason of the signal. */
  readonly signal: AbortSignal
  /** Makes the error for input that the engine refuses. */
  failure(message: string): Error
}

/** The content of a new index. */
interface IndexContent {
  readonly primaryKey: string | null
  /** JSON text of `IndexSettings`. */
  readonly settings: string
  /** Path of an NDJSON file. */
  readonly documents: string
}

/** A new index that is filled by several commits. */
export class NewIndex {
  readonly id: IndexId = randomUUID()
  readonly #setup: NewIndexSetup
  #commits = 0

  constructor(setup: NewIndexSetup) {
    this.#setup = setup
  }

  /** @param filled called often, with the bytes of documents that are done */
  async fill(
    { primaryKey, settings, documents }: IndexContent,
    filled: (finished: number, total: number) => void,
  ): Promise<BatchReport> {
    let report = await this.#commit([
      { taskUid: 0, kind: 'primaryKey', primaryKey },
      { taskUid: 1, kind: 'settings', settings },
    ])
    const { size } = await stat(documents)
    let finished = 0
    for await (const { file, bytes } of parts(documents, size)) {
      filled(finished, size)
      const payload = { path: file, format: 'ndjson' } as const
      const upload = { method: 'replace', primaryKey: null, skipCreation: false, payload } as const
      report = await this.#commit([{ taskUid: 0, kind: 'documents', ...upload }])
      finished += bytes
    }
    filled(size, size)
    return report
  }

  async #commit(operations: readonly Operation[]): Promise<BatchReport> {
    const batch = { uid: RESTORED_BATCH_UIDS + this.#commits++, indexUid: this.#setup.uid, operations }
    // The documents have their vectors, so none is embedded again.
    const report = await this.#apply(batch)
    const failed = report.outcomes.find(({ error }) => error !== undefined)
    if (failed?.error !== undefined) throw this.#setup.failure(failed.error.message)
    return report
  }

  async #apply(batch: Batch): Promise<BatchReport> {
    const { engine, signal } = this.#setup
    signal.throwIfAborted()
    try {
      const prepared = await engine.prepare(this.id, batch, signal)
      const abandon = (): void => void engine.abandon(prepared).catch(() => undefined)
      signal.addEventListener('abort', abandon, { once: true })
      if (signal.aborted) abandon()
      return await engine.commit(prepared, []).finally(() => signal.removeEventListener('abort', abandon))
    } catch (error) {
      signal.throwIfAborted()
      throw error
    }
  }
}

interface Part {
  readonly file: string
  readonly bytes: number
}

/**
 * Splits a file of lines into files of at most `COMMIT_BYTES`, or of one longer line. The caller must finish using a
 * file before it requests the next.
 */
async function* parts(file: string, size: number): AsyncGenerator<Part> {
  if (size === 0) return
  if (size <= COMMIT_BYTES) return yield { file, bytes: size }
  const path = `${file}.part`
  let part: FileHandle | null = null
  let bytes = 0
  try {
    for await (const chunk of createReadStream(file, {
      highWaterMark: 1024 * 1024,
    }) as AsyncIterable<Buffer>) {
      let rest = chunk
      // The line that reaches the limit is the last of its part.
      const end = bytes + chunk.length < COMMIT_BYTES ? -1 : chunk.indexOf(10)
      if (end !== -1) {
        part ??= await open(path, 'w')
        await part.writeFile(chunk.subarray(0, end + 1))
        await part.close()
        part = null
        yield { file: path, bytes: bytes + end + 1 }
        bytes = 0
        rest = chunk.subarray(end + 1)
      }
      part ??= await open(path, 'w')
      await part.writeFile(rest)
      bytes += rest.length
    }
    await part?.close()
    part = null
    if (bytes > 0) yield { file: path, bytes }
  } finally {
    await part?.close()
    await rm(path, { force: true })
  }
}
