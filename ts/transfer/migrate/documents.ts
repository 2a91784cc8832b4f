import { acceptedTask, finishedTask, type Page, PageReader, type Peer, PeerError } from '../peer/index.js'
import type { IndexFacts } from './inventory.js'
import { UPLOAD_MS_MAX, UPLOADS_WAITING_MAX } from './limits.js'

interface DocumentsCopy {
  readonly from: Peer
  readonly to: Peer
  readonly index: IndexFacts
  /** Number of documents that an earlier run has copied. */
  readonly copied: number
  /** Called after each upload that the target has indexed. */
  progress(documents: number, total: number): Promise<void>
}

/** An upload that the target has accepted. */
interface Upload {
  readonly taskUid: number
  /** Positions of its documents: from `offset` to before `end`. */
  readonly offset: number
  readonly end: number
}

/**
 * Copies the documents of an index with their vectors. Reads the next page while earlier pages are indexed.
 * @returns number of documents of the source when the last page was read
 * @throws PeerError that names the refused documents
 */
export async function copyDocuments(copy: DocumentsCopy): Promise<number> {
  const { from, index, copied, progress } = copy
  const reader = new PageReader(from, index.uid, { retrieveVectors: true })
  // Each promise resolves once its upload and all earlier ones are indexed, so progress never skips a failed upload.
  const waiting: Promise<void>[] = []
  let indexed: Promise<void> = Promise.resolve()
  let reading = reader.read(copied)
  for (;;) {
    const page = await reading
    const end = page.offset + page.lines.length
    const isLast = page.lines.length === 0 || end >= page.total
    if (!isLast) reading = awaitedLater(reader.read(end))
    if (waiting.length >= UPLOADS_WAITING_MAX) await waiting.shift()
    for (const one of page.lines.length > 0 ? await upload(copy, page) : []) {
      const before = indexed
      const next = async (): Promise<void> => {
        await before
        await finished(copy, one)
        await progress(one.end, page.total)
      }
      indexed = awaitedLater(next())
      waiting.push(indexed)
    }
    if (isLast) {
      await indexed
      return page.total
    }
  }
}

/** Returns the promise and marks its error as handled, since it is awaited later. */
function awaitedLater<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined)
  return promise
}

/** Sends a page. Splits it into halves if the target refuses it as too large. */
async function upload(copy: DocumentsCopy, page: Page): Promise<readonly Upload[]> {
  const { to, index } = copy
  const { lines, offset } = page
  const query = index.primaryKey === null ? '' : `?primaryKey=${encodeURIComponent(index.primaryKey)}`
  try {
    const { taskUid } = await to.json<{ taskUid: number }>(
      'POST',
      `/indexes/${encodeURIComponent(index.uid)}/documents${query}`,
      { body: lines.join('\n'), isRepeatable: true, timeoutMs: UPLOAD_MS_MAX, shape: acceptedTask },
    )
    return [{ taskUid, offset, end: offset + lines.length }]
  } catch (error) {
    if (!(error instanceof PeerError) || error.status !== 413 || lines.length === 1) throw error
    const half = Math.ceil(lines.length / 2)
    return [
      ...(await upload(copy, { ...page, lines: lines.slice(0, half) })),
      ...(await upload(copy, { ...page, lines: lines.slice(half), offset: offset + half })),
    ]
  }
}

function finished({ to, index }: DocumentsCopy, { taskUid, offset, end }: Upload): Promise<void> {
  const doing = `index \`${index.uid}\`: copying documents ${offset + 1} to ${end}`
  return finishedTask(
    to,
    { taskUid },
    doing,
    'correct them on the source and start again: the copy continues here',
  )
}
