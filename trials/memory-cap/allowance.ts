/** How much memory may a server use beyond what it holds when idle, while it indexes? docs/memory.md says why. */

const MIB = 2 ** 20
/** For what is not indexing: requests and uploads under way, the task store, garbage between two collections. */
const SERVER_BYTES = 128 * MIB
/**
 * Bytes that the fallback engine holds for each byte of JSON, since it keeps whole indexes in memory: an estimate, which a
 * load of 20 MB stays under.
 */
const FALLBACK_BYTES_PER_BYTE = 12

export interface Load {
  readonly engine: 'native' | 'fallback'
  /** `--max-indexing-memory` */
  readonly indexingBytes: number
  /** `--cache-size` */
  readonly cacheBytes: number
  /** JSON of all documents. */
  readonly documentBytes: number
}

/** Bytes above the idle base. */
export function allowance({ engine, indexingBytes, cacheBytes, documentBytes }: Load): number {
  const kept = engine === 'native' ? 0 : documentBytes * FALLBACK_BYTES_PER_BYTE
  return indexingBytes + cacheBytes + SERVER_BYTES + kept
}
