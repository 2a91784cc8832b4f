/** Memory that a server may use for indexing, in addition to its idle memory. docs/memory.md gives the reasons. */

const MIB = 2 ** 20
/** For requests and uploads in flight, the task store, and uncollected garbage. */
const SERVER_BYTES = 128 * MIB
/**
 * Bytes that the fallback engine uses for each byte of JSON, because it keeps indexes in memory. An estimate: a load of
 * 20 MB uses less.
 */
const FALLBACK_BYTES_PER_BYTE = 12

export interface Load {
  readonly engine: 'native' | 'fallback'
  /** `--max-indexing-memory` */
  readonly indexingBytes: number
  /** `--cache-size` */
  readonly cacheBytes: number
  /** Size of all documents as JSON. */
  readonly documentBytes: number
}

/** @returns the allowed bytes above idle memory */
export function allowance({ engine, indexingBytes, cacheBytes, documentBytes }: Load): number {
  const indexes = engine === 'native' ? 0 : documentBytes * FALLBACK_BYTES_PER_BYTE
  return indexingBytes + cacheBytes + SERVER_BYTES + indexes
}
