/** Here is a log that may be damaged: what of it can still be read? */
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

/** A commit of a damaged log, as far as it can be read. */
export interface ReadCommit {
  /** null: the record is lost, and its documents and vectors are known to have been committed. */
  readonly record: CommitRecord | null
  readonly documents: Iterable<LoggedDocument>
  readonly vectors: readonly Buffer[]
}

/**
 * Reads a log past what does not check out, and hands what it finds to `replay`, oldest first. Frames behind the last
 * commit are left out, as when the log is opened.
 * @returns what is lost, a line each; none: everything up to the last commit was read
 */
export async function readDamagedLog(
  path: string,
  replay: (commit: ReadCommit) => Promise<void>,
): Promise<readonly string[]> {
  const file = await open(path, 'r')
  try {
    return await readPast(path, await FrameReader.over(file), replay)
  } finally {
    await file.close()
  }
}

async function readPast(
  path: string,
  reader: FrameReader,
  replay: (commit: ReadCommit) => Promise<void>,
): Promise<readonly string[]> {
  const losses: string[] = []
  /** Losses behind the last commit, which cost nothing unless another commit follows. */
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
    // Without a frame behind it, this is the end of a commit that was never finished, or the end of the file is lost.
    if (end === null) break
    latest.push(
      `${path}: bytes ${at} to ${end} do not match their checksum, ${costOf(damaged?.kind ?? null)}`,
    )
    // Documents in front of the lost end of a commit do not belong to the next one, which may begin with a deletion.
    if (damaged?.kind === COMMIT) await commit(null)
    at = end
  }
  return losses
}

/** @param kind of the damaged frame; null if it cannot be told */
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
