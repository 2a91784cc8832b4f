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
import { ArchiveError } from './archive-error.js'
import type { Unpacked } from './archive-reader.js'
import { withLengths } from './embedder-facts.js'
import { bytesOf, requiredJsonOf } from './entries.js'
import { fieldsOf, indexUidOf } from './fields.js'
import { indexMetadataForm } from './instance-forms.js'
import { COMMIT_BYTES } from './limits.js'
import type { RestoreRequest } from './restore-request.js'

/** The folders of all indexes of a dump, sorted. */
export function indexesIn(unpacked: Unpacked): readonly string[] {
  const folders = [...unpacked.keys()].flatMap((path) => /^indexes\/([^/]+)\//.exec(path)?.[1] ?? [])
  return [...new Set(folders)].sort()
}

/** The uid of the index in a folder. @throws ArchiveError */
export async function indexUidIn(folder: string, unpacked: Unpacked): Promise<string> {
  const at = `indexes/${folder}/metadata.json`
  return indexUidOf(fieldsOf(await requiredJsonOf(unpacked, at), at).uid, `${at}: uid`)
}

/** Creates an index from the entries in `indexes/{folder}`. @throws ArchiveError */
export async function restoreIndex(
  folder: string,
  unpacked: Unpacked,
  queue: Restore,
  { engine, signal, progress }: RestoreRequest,
): Promise<void> {
  const path = `indexes/${folder}`
  const at = `${path}/metadata.json`
  const { uid, primaryKey, createdAt } = indexMetadataForm.read(await requiredJsonOf(unpacked, at), at)
  const documents = unpacked.get(`${path}/documents.jsonl`)
  if (documents === undefined) throw new ArchiveError(`it has no ${path}/documents.jsonl`)

  const index = new NewIndex(engine, uid, path, signal)
  const settings = await withLengths(await settingsOf(unpacked, `${path}/settings.json`), unpacked, path)
  let report = await index.commit([
    { taskUid: 0, kind: 'primaryKey', primaryKey },
    { taskUid: 1, kind: 'settings', settings: JSON.stringify(settings) },
  ])
  const { size } = await stat(documents)
  let finished = 0
  for await (const { file, bytes } of parts(documents, size)) {
    progress(`importing ${uid}`, finished, size)
    const payload = { path: file, format: 'ndjson' } as const
    const upload = { method: 'replace', primaryKey: null, skipCreation: false, payload } as const
    report = await index.commit([{ taskUid: 0, kind: 'documents', ...upload }])
    finished += bytes
  }
  progress(`importing ${uid}`, size, size)
  const updatedAt = new Date().toISOString()
  const entry = { uid, id: index.id, primaryKey: report.primaryKey, createdAt, updatedAt }
  await queue.index(entry, report.batchUid)
}

/** A new index that is filled by several commits. */
class NewIndex {
  readonly id: IndexId = randomUUID()
  readonly #engine: Engine
  readonly #uid: string
  readonly #path: string
  readonly #signal: AbortSignal
  #commits = 0

  constructor(engine: Engine, uid: string, path: string, signal: AbortSignal) {
    this.#engine = engine
    this.#uid = uid
    this.#path = path
    this.#signal = signal
  }

  async commit(operations: readonly Operation[]): Promise<BatchReport> {
    const batch = { uid: RESTORED_BATCH_UIDS + this.#commits++, indexUid: this.#uid, operations }
    // The dump holds the vectors, so that no document is embedded again.
    const report = await this.#apply(batch)
    const failed = report.outcomes.find(({ error }) => error !== undefined)
    if (failed?.error !== undefined) throw new ArchiveError(`${this.#path}: ${failed.error.message}`)
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
  if (bytes === null) throw new ArchiveError(`it has no ${path}`)
  const features = { foreignKeys: true, chatCompletions: true, compositeEmbedders: true, multimodal: true }
  try {
    const { patch } = settingsChange(readBody(bytes, settingsBody), features)
    return mergeSettings(defaultIndexSettings, patch)
  } catch (error) {
    if (error instanceof ApiError) throw new ArchiveError(`${path}: ${error.message}`)
    throw error
  }
}

interface Part {
  readonly file: string
  readonly bytes: number
}

/**
 * Splits a file of lines into files of at most `COMMIT_BYTES`, or of one longer line. The caller must be done with a
 * file before it takes the next.
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
