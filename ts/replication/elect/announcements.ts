/** Candidates announce themselves in the bucket, so that each knows its place in the order of candidates. */
import { shapes } from '../../parse/index.js'
import { LOG_FORMAT } from '../log/format.js'
import { type ObjectStore, type Repeating, repeated } from '../object-store/index.js'
import { ANNOUNCED_MS, CANDIDATES_MAX, SIGN_BYTES_MAX } from './limits.js'

/** A server that may become the leader. */
export interface Announcement {
  /** Identity of its data directory. */
  readonly id: string
  /** Its HTTP address; null: it has none. */
  readonly address: string | null
  /** Milliseconds since 1970 by its clock. */
  readonly at: number
  /** The last log record that it has. */
  readonly position: number
  /** The newest `LOG_FORMAT` that it reads. Absent: 1. */
  readonly format?: number
}

const shape = shapes.object(
  {
    id: shapes.text,
    address: shapes.orNull(shapes.text),
    at: shapes.integer(),
    position: shapes.integer(),
  },
  { format: shapes.integer() },
)

const PREFIX = 'candidates/'
const keyOf = (id: string): string => `${PREFIX}${id}`

type Place = { readonly store: ObjectStore; readonly repeating: Repeating }

/** @throws BucketError */
export async function announce(
  { store, repeating }: Place,
  announcement: Announcement,
  signal: AbortSignal,
): Promise<void> {
  const body = Buffer.from(JSON.stringify(announcement))
  await repeated(repeating, signal, () => store.put(keyOf(announcement.id), body, signal))
}

/** Returns the candidates that announced themselves recently. Skips damaged announcements. @throws BucketError */
export async function recentCandidates(
  { store, repeating }: Place,
  now: number,
  signal: AbortSignal,
): Promise<readonly Announcement[]> {
  const keys = await repeated(repeating, signal, async () => {
    const found: string[] = []
    for await (const { key } of store.list(PREFIX, { signal })) {
      found.push(key)
      if (found.length === CANDIDATES_MAX) break
    }
    return found
  })
  const read = await Promise.all(
    keys.map((key) =>
      repeated(repeating, signal, () => store.get(key, { bytesMax: SIGN_BYTES_MAX, signal })).catch(
        () => null,
      ),
    ),
  )
  return read
    .map((bytes) => bytes && announcementIn(bytes))
    .filter((found) => found !== null)
    .filter(({ at }) => Math.abs(now - at) <= ANNOUNCED_MS)
}

/**
 * Returns the candidates that can read what this version writes, in the order in which it hands over to them: the oldest
 * version first, which all others can follow, then the newest data.
 */
export const successorsAmong = (candidates: readonly Announcement[]): readonly Announcement[] =>
  candidates
    .filter(({ format = 1 }) => format >= LOG_FORMAT)
    .toSorted((one, other) => (one.format ?? 1) - (other.format ?? 1) || other.position - one.position)

function announcementIn(bytes: Buffer): Announcement | null {
  try {
    return shapes.readShape<Announcement>(
      bytes.toString(),
      'an announcement',
      shape,
      (text) => new Error(text),
    )
  } catch {
    return null
  }
}
