/**
 * Snapshot of the indexed data, so that only the end of the log is replayed. A separate file, replaced atomically.
 *
 * snapshot = "SIFTSNP1" frame*           frame: see `frames.ts`
 * kind     = 1 place: JSON of a `SnapshotPlace`, first | sections of `built.ts` | 22 end, last
 *
 * The head says what cut the documents into words. It only saves time. A snapshot is ignored if it is missing, damaged, or of a commit not in the log; the index is then
 * built from the log.
 */
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { AnalysisVersion } from '../../engine.js'
import { syncDirectory } from '../../sync-directory.js'
import type { Pacer } from '../indexing/pacer.js'
import { DamagedFileError, FrameReader, frame, writeAt } from '../store/frames.js'
import type { LogPosition } from '../store/log.js'
import { analysisIn, type BuiltIndex, BuiltReader, SECTION, sectionsOf } from './built.js'

const HEADER = Buffer.from('SIFTSNP1')
const PLACE = 1
/** Incremented when the sections or the rules that produce them change. */
const CONTENT_VERSION = 3

/** Commit of a snapshot, and version of the rules that produced it. */
interface SnapshotPlace extends LogPosition {
  readonly version: number
}

export interface Snapshot {
  readonly position: LogPosition
  readonly built: BuiltIndex
}

/**
 * Atomically replaces the snapshot at `path`.
 * @returns its bytes
 */
export async function writeSnapshot(
  path: string,
  { position, built }: Snapshot,
  pacer: Pacer,
): Promise<number> {
  const temporary = `${path}.new`
  const file = await open(temporary, 'w')
  try {
    const place: SnapshotPlace = { ...position, version: CONTENT_VERSION }
    let at = await writeAt(file, HEADER, 0)
    at = await writeAt(file, frame(PLACE, Buffer.from(JSON.stringify(place))), at)
    for (const { kind, payload } of sectionsOf(built)) {
      at = await writeAt(file, frame(kind, payload), at)
      if (pacer.due()) await pacer.pause()
    }
    at = await writeAt(file, frame(SECTION.end, Buffer.alloc(0)), at)
    await file.sync()
    await file.close()
    await rename(temporary, path)
    await syncDirectory(dirname(path))
    return at
  } catch (error) {
    // Rethrow the first error only.
    await file.close().catch(() => undefined)
    await rm(temporary, { force: true })
    throw error
  }
}

/** @returns null if the file is missing or has another content version @throws DamagedFileError */
export const readSnapshot = (path: string): Promise<(Snapshot & { readonly bytes: number }) | null> =>
  readFrames(path, (reader) => readSections(path, reader))

/**
 * Returns the commit of a snapshot, without reading the rest of it.
 * @returns null if the snapshot is not used when the index is opened
 */
export const snapshotPosition = (path: string): Promise<LogPosition | null> =>
  readFrames(path, async (reader) => {
    const place = await reader.frame(HEADER.length)
    if (place === null) return null
    const { version, end, check } = JSON.parse(place.payload.toString()) as SnapshotPlace
    return version === CONTENT_VERSION ? { end, check } : null
  })

/**
 * Returns the versions that cut the documents of a snapshot into words, without reading the rest of it.
 * @returns null if the snapshot is not used when the index is opened
 */
export const snapshotAnalysis = (path: string): Promise<AnalysisVersion | null> =>
  readFrames(path, async (reader) => {
    const place = await reader.frame(HEADER.length)
    if (place === null || (JSON.parse(place.payload.toString()) as SnapshotPlace).version !== CONTENT_VERSION)
      return null
    const head = await reader.frame(place.end)
    return head === null ? null : analysisIn(head.payload)
  })

/** Reads a file of frames; null if it is missing. */
async function readFrames<T>(path: string, read: (reader: FrameReader) => Promise<T>): Promise<T | null> {
  let file: FileHandle
  try {
    file = await open(path, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  try {
    return await read(await FrameReader.over(file))
  } finally {
    await file.close()
  }
}

async function readSections(
  path: string,
  reader: FrameReader,
): Promise<(Snapshot & { readonly bytes: number }) | null> {
  if (!(await reader.bytes(0, HEADER.length)).equals(HEADER))
    throw new DamagedFileError(path, 'it does not start with the header of a snapshot')
  const first = await reader.frame(HEADER.length)
  if (first?.kind !== PLACE) throw new DamagedFileError(path, 'it does not name its commit')
  const { version, end, check } = JSON.parse(first.payload.toString()) as SnapshotPlace
  if (version !== CONTENT_VERSION) return null
  const content = new BuiltReader()
  for (let at = first.end; ; ) {
    const found = await reader.frame(at)
    if (found === null)
      throw new DamagedFileError(path, `the frame at byte ${at} does not match its checksum`)
    at = found.end
    if (found.kind === SECTION.end) return { position: { end, check }, built: content.built, bytes: at }
    if (!content.add(found))
      throw new DamagedFileError(path, `the frame before byte ${at} is of an unknown kind`)
  }
}
