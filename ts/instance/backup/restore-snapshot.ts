/** Restores a data directory from a snapshot. */
import { open, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { makeDirectory } from '../../engine/index.js'
import { checksumOf, openRestore } from '../../tasks/index.js'
import { ArchiveError } from './archive-error.js'
import { type Unpacked, unpack } from './archive-reader.js'
import { requiredJsonOf } from './entries.js'
import {
  CONTENTS_FILE,
  isSnapshotFile,
  readContents,
  type SnapshotContents,
  STORE_FILE,
} from './snapshot-files.js'

/** A request to restore a snapshot. */
interface SnapshotRequest {
  /** The path of the snapshot. */
  readonly archive: string
  /** The empty data directory to fill. */
  readonly directory: string
  /** Aborting it makes the restore reject soon with the reason of the signal. */
  readonly signal: AbortSignal
  /** Called often. @param total 0 if unknown */
  progress(doing: string, finished: number, total: number): void
}

/**
 * Fills a data directory from a snapshot, after it has checked the length and checksum of each file. After an error the
 * directory is incomplete and must be removed.
 * @returns the version of the build that wrote it
 * @throws ArchiveError if the archive is not a complete snapshot, or its format cannot be read
 */
export async function restoreSnapshot({
  archive,
  directory,
  signal,
  progress,
}: SnapshotRequest): Promise<string> {
  const workspace = join(directory, 'unpacked')
  progress('unpacking', 0, 0)
  const unpacked = await unpack(archive, workspace, isSnapshotFile, signal)
  if (!unpacked.has(CONTENTS_FILE))
    throw new ArchiveError(`it has no ${CONTENTS_FILE}, so it is not a complete snapshot of siftd`)
  const contents = readContents(await requiredJsonOf(unpacked, CONTENTS_FILE))
  await requireComplete(unpacked, contents, (finished) => {
    signal.throwIfAborted()
    progress('checking files', finished, contents.files.size)
  })
  for (const path of contents.files.keys()) {
    const target = join(directory, ...path.split('/'))
    await makeDirectory(dirname(target), 0o700)
    await rename(unpacked.get(path)!, target)
  }
  await rm(workspace, { recursive: true })
  // Opening the store writes additional files. With them a later start checks that the store is complete.
  await (await openRestore(directory)).close()
  return contents.version
}

/** @throws ArchiveError if a file is missing, unexpected or damaged */
async function requireComplete(
  unpacked: Unpacked,
  { files }: SnapshotContents,
  checked: (finished: number) => void,
): Promise<void> {
  if (!files.has(STORE_FILE)) throw new ArchiveError(`it has no ${STORE_FILE}`)
  for (const path of unpacked.keys())
    if (path !== CONTENTS_FILE && !files.has(path))
      throw new ArchiveError(`it holds \`${path}\`, which ${CONTENTS_FILE} does not name`)
  let finished = 0
  for (const [path, { bytes, crc32 }] of files) {
    const file = unpacked.get(path)
    if (file === undefined) throw new ArchiveError(`it has no \`${path}\`, which ${CONTENTS_FILE} names`)
    const { size } = await stat(file)
    if (size !== bytes || (await checksumOf(file)) !== crc32)
      throw new ArchiveError(`\`${path}\` in it is damaged: its length or checksum differs`)
    await synced(file)
    checked(++finished)
  }
}

async function synced(path: string): Promise<void> {
  const file = await open(path, 'r+')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}
