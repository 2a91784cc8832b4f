/** Here are the entries of one index: how do they become an index? */
import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, open, rm, stat } from 'node:fs/promises'
import type { Batch, BatchReport, Engine, IndexId, Operation } from '../engine/index.js'
import { ApiError } from '../errors/index.js'
import { readBody } from '../parse/index.js'
import {
  defaultIndexSettings,
  type IndexSettings,
  mergeSettings,
  settingsBody,
  settingsChange,
} from '../settings/index.js'
import { RESTORED_BATCH_UIDS, type Restore } from '../tasks/index.js'
import type { Unpacked } from './archive-reader.js'
import { DumpError } from './dump-error.js'
import { withLengths } from './embedder-facts.js'
import { bytesOf, requiredJsonOf } from './entries.js'
import { fieldsOf, indexUidOf } from './fields.js'
import { indexMetadataForm } from './instance-forms.js'
import { COMMIT_BYTES } from './limits.js'
import type { RestoreRequest } from './restore-request.js'

/** Folders of the indexes of a dump, sorted. */
export function indexesIn(unpacked: Unpacked): readonly string[] {
  const folders = [...unpacked.keys()].flatMap((path) => /^indexes\/([^/]+)\//.exec(path)?.[1] ?? [])
  return [...new Set(folders)].sort()
}

/** The uid of the index whose entries lie in that folder. @throws DumpError */
export async function indexUidIn(folder: string, unpacked: Unpacked): Promise<string> {
  const at = `indexes/${folder}/metadata.json`
  return indexUidOf(fieldsOf(await requiredJsonOf(unpacked, at), at).uid, `${at}: uid`)
}

/** Makes an index of the entries below `indexes/{folder}`. @throws DumpError */
export async function restoreIndex(
  folder: string,
  unpacked: Unpacked,
  queue: Restore,
  { engine, signal, progress }: RestoreRequest,
): Promise<void> {
  const place = `indexes/${folder}`
  const at = `${place}/metadata.json`
  const { uid, primaryKey, createdAt } = indexMetadataForm.read(await requiredJsonOf(unpacked, at), at)
  const documents = unpacked.get(`${place}/documents.jsonl`)
  if (documents === undefined) throw new DumpError(`it has no ${place}/documents.jsonl`)

  const index = new NewIndex(engine, uid, place, signal)
  const settings = await withLengths(await settingsOf(unpacked, `${place}/settings.json`), unpacked, place)
  let report = await index.commit([
    { taskUid: 0, kind: 'primaryKey', primaryKey },
    { taskUid: 1, kind: 'settings', settings },
  ])
  const { size } = await stat(documents)
  let finished = 0
  for await (const { path, bytes } of pieces(documents, size)) {
    progress(`importing ${uid}`, finished, size)
    const payload = { path, format: 'ndjson' } as const
    const upload = { method: 'replace', primaryKey: null, skipCreation: false, payload } as const
    report = await index.commit([{ taskUid: 0, kind: 'documents', ...upload }])
    finished += bytes
  }
  progress(`importing ${uid}`, size, size)
  const updatedAt = new Date().toISOString()
  const entry = { uid, id: index.id, primaryKey: report.primaryKey, createdAt, updatedAt }
  await queue.index(entry, report.batchUid)
}

/** An index that is filled commit by commit. */
class NewIndex {
  readonly id: IndexId = randomUUID()
  readonly #engine: Engine
  readonly #uid: string
  readonly #place: string
  readonly #signal: AbortSignal
  #commits = 0

  constructor(engine: Engine, uid: string, place: string, signal: AbortSignal) {
    this.#engine = engine
    this.#uid = uid
    this.#place = place
    this.#signal = signal
  }

  async commit(operations: readonly Operation[]): Promise<BatchReport> {
    const batch = { uid: RESTORED_BATCH_UIDS + this.#commits++, indexUid: this.#uid, operations }
    // Vectors come with the documents: nothing is embedded anew.
    const report = await this.#apply(batch)
    const failed = report.outcomes.find(({ error }) => error !== undefined)
    if (failed?.error !== undefined) throw new DumpError(`${this.#place}: ${failed.error.message}`)
    return report
  }

  async #apply(batch: Batch): Promise<BatchReport> {
    const signal = this.#signal
    signal.throwIfAborted()
    try {
      const prepared = await this.#engine.prepare(this.id, batch, signal)
      const abandon = (): void => void this.#engine.abandon(prepared).catch(() => undefined)
      signal.addEventListener('abort', abandon, { once: true })
      if (signal.aborted) abandon()
      return await this.#engine
        .commit(prepared, [])
        .finally(() => signal.removeEventListener('abort', abandon))
    } catch (error) {
      signal.throwIfAborted()
      throw error
    }
  }
}

async function settingsOf(unpacked: Unpacked, path: string): Promise<IndexSettings> {
  const bytes = await bytesOf(unpacked, path)
  if (bytes === null) throw new DumpError(`it has no ${path}`)
  const features = { foreignKeys: true, chatCompletions: true, compositeEmbedders: true, multimodal: true }
  try {
    const { patch } = settingsChange(readBody(bytes, settingsBody), features)
    return mergeSettings(defaultIndexSettings, patch)
  } catch (error) {
    if (error instanceof ApiError) throw new DumpError(`${path}: ${error.message}`)
    throw error
  }
}

interface Piece {
  readonly path: string
  readonly bytes: number
}

/** A file of lines as files of at most `COMMIT_BYTES`, or of one line. Each is gone once the next is asked for. */
async function* pieces(file: string, size: number): AsyncGenerator<Piece> {
  if (size === 0) return
  if (size <= COMMIT_BYTES) return yield { path: file, bytes: size }
  const path = `${file}.piece`
  let piece: FileHandle | null = null
  let bytes = 0
  try {
    for await (const chunk of createReadStream(file, {
      highWaterMark: 1024 * 1024,
    }) as AsyncIterable<Buffer>) {
      let rest = chunk
      // The line that reaches the limit is the last of its piece.
      const end = bytes + chunk.length < COMMIT_BYTES ? -1 : chunk.indexOf(10)
      if (end !== -1) {
        piece ??= await open(path, 'w')
        await piece.writeFile(chunk.subarray(0, end + 1))
        await piece.close()
        piece = null
        yield { path, bytes: bytes + end + 1 }
        bytes = 0
        rest = chunk.subarray(end + 1)
      }
      piece ??= await open(path, 'w')
      await piece.writeFile(rest)
      bytes += rest.length
    }
    await piece?.close()
    piece = null
    if (bytes > 0) yield { path, bytes }
  } finally {
    await piece?.close()
    await rm(path, { force: true })
  }
}
