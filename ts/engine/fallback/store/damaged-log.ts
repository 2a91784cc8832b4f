/** Reads the intact parts of a damaged log. */
import { open } from 'node:fs/promises'
import { FrameReader } from './frames.js'
import {
  COMMIT,
  type CommitRecord,
  DOCUMENTS,
  documentsOfFrames,
  HEADER,
  type LoggedDocument,
  VECTORS,
} from './log.js'

/** A commit of a damaged log, as far as it is readable. */
interface ReadCommit {
  /** null: the record is lost, but its documents and vectors are known to be committed. */
  readonly record: CommitRecord | null
  readonly documents: Iterable<LoggedDocument>
  readonly vectors: readonly Buffer[]
}

/**
 * Reads a log, skips damaged frames and passes the commits to `replay`, oldest first. Frames after the last commit are
 * ignored, as when the log is opened.
 * @returns the losses, one line each; empty: everything up to the last commit was read
 */
export async function readDamagedLog(
  path: string,
  replay: (commit: ReadCommit) => Promise<void>,
): Promise<readonly string[]> {
  const file = await open(path, 'r')
  try {
    return await readIntactFrames(path, await FrameReader.over(file), replay)
  } finally {
    await file.close()
  }
}

async function readIntactFrames(
  path: string,
  reader: FrameReader,
  replay: (commit: ReadCommit) => Promise<void>,
): Promise<readonly string[]> {
  const losses: string[] = []
  /** Losses after the last commit. They only count if another commit follows. */
  let latest: string[] = []
  let documents: Buffer[] = []
  let vectors: Buffer[] = []
  const commit = async (record: CommitRecord | null): Promise<void> => {
    await replay({ record, documents: documentsOfFrames(documents), vectors })
    documents = []
    vectors = []
    losses.push(...latest)
    latest = []
  }
  for (let at = HEADER.length; at < reader.size; ) {
    const found = await reader.frame(at)
    if (found !== null) {
      at = found.end
      if (found.kind === DOCUMENTS) documents.push(found.payload)
      else if (found.kind === VECTORS) vectors.push(found.payload)
      else if (found.kind === COMMIT) await commit(JSON.parse(found.payload.toString()) as CommitRecord)
      else latest.push(`${path}: the frame before byte ${at} is of an unknown kind`)
      continue
    }
    const damaged = await reader.damagedFrame(at)
    const end = damaged?.end ?? (await reader.find([DOCUMENTS, COMMIT, VECTORS], at + 1))
    // Without a later frame, this is an unfinished commit, or the end of the file is lost.
    if (end === null) break
    latest.push(
      `${path}: bytes ${at} to ${end} do not match their checksum, ${costOf(damaged?.kind ?? null)}`,
    )
    // Documents before a lost commit frame do not belong to the next commit, which may start with a deletion.
    if (damaged?.kind === COMMIT) await commit(null)
    at = end
  }
  return losses
}

/** @param kind of the damaged frame; null if unknown */
function costOf(kind: number | null): string {
  switch (kind) {
    case DOCUMENTS:
      return 'and the documents in them are lost or as they were before'
    case VECTORS:
      return 'and the vectors in them are lost or as they were before'
    case COMMIT:
      return 'and the deletions and settings in them are lost'
    default:
      return 'and documents, vectors, deletions or settings in them are lost'
  }
}
