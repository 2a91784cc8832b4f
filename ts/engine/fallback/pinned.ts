/**
 * Pins an index commit for reading while later commits are made, so that copies of an instance show one point in time.
 */
import { type FileHandle, mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import { decodeRequest } from '../encoding.js'
import type { DocumentsRequest } from '../requests.js'
import { syncDirectory } from '../sync-directory.js'
import { LOG_FILE, type OpenIndex, SNAPSHOT_FILE } from './open-index.js'
import { type ListedData, listingOf, matchingDocuments } from './search/documents.js'
import { isMissing } from './store/frames.js'

/** Bytes copied per read. */
const COPY_BYTES = 1024 * 1024

/** A file of an index, up to the length that a commit needs. */
interface HeldFile {
  readonly name: string
  readonly handle: FileHandle
  readonly bytes: number
  close(): Promise<void>
}

/** Keeps its files readable until it is closed, even if a compaction replaces them. */
export class PinnedIndex {
  readonly #data: ListedData
  readonly #docids: Uint32Array
  readonly #files: readonly HeldFile[]

  private constructor(data: ListedData, docids: Uint32Array, files: readonly HeldFile[]) {
    this.#data = data
    this.#docids = docids
    this.#files = files
  }

  /** Pins the newest commit. @param listing see `Engine.pin` */
  static async of(index: OpenIndex, directory: string, listing?: Uint8Array): Promise<PinnedIndex> {
    await index.settled()
    const matching =
      listing === undefined
        ? index.data.alive
        : matchingDocuments(index, decodeRequest<DocumentsRequest>(listing))
    const docids = matching.toArray()
    // Open the snapshot before the log: the copied log must include the commit of the snapshot.
    const built = await heldFile(join(directory, SNAPSHOT_FILE))
    const { log } = index
    const { documents, settings, vectors } = index.data
    const held = new Map([...vectors].map(([name, set]) => [name, set.held()]))
    const files = [
      ...(built === null ? [] : [{ name: SNAPSHOT_FILE, ...built }]),
      { name: LOG_FILE, ...log.hold(), close: () => log.close() },
    ]
    const data = { documents: documents.slice(), settings, vectors: held }
    return new PinnedIndex(data, docids, files)
  }

  get settings(): string {
    return JSON.stringify(this.#data.settings)
  }

  /** Lists documents, ascending docids. @param request see `Engine.pinnedDocuments` */
  documents(request: Uint8Array): Uint8Array {
    const listed = decodeRequest<DocumentsRequest>(request)
    const page = this.#docids.subarray(listed.offset, listed.offset + listed.limit)
    return listingOf(this.#data, page, listed, this.#docids.length)
  }

  /** Copies the commit into `directory`, which must not exist. */
  async copyTo(directory: string): Promise<void> {
    await mkdir(directory)
    for (const file of this.#files) await copy(file, join(directory, file.name))
    await syncDirectory(directory)
  }

  async close(): Promise<void> {
    for (const file of this.#files) await file.close()
  }
}

/** Returns null if the file does not exist. */
async function heldFile(path: string): Promise<Omit<HeldFile, 'name'> | null> {
  try {
    const handle = await open(path)
    return { handle, bytes: (await handle.stat()).size, close: () => handle.close() }
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

async function copy({ handle, bytes }: HeldFile, path: string): Promise<void> {
  const target = await open(path, 'wx')
  try {
    const buffer = Buffer.allocUnsafe(COPY_BYTES)
    for (let at = 0; at < bytes; ) {
      const { bytesRead } = await handle.read(buffer, 0, Math.min(COPY_BYTES, bytes - at), at)
      if (bytesRead === 0)
        throw new Error(`a held file is shorter than ${bytes} bytes: ${path} is incomplete`)
      await target.writeFile(buffer.subarray(0, bytesRead))
      at += bytesRead
    }
    await target.sync()
  } finally {
    await target.close()
  }
}
