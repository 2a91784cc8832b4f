/**
 * Bytes went through the process: when does their memory come back?
 *
 * What a socket reads lies outside the heap, and the objects that stand for it are so small that no collection is due
 * before tens of megabytes of an upload have piled up, beside the memory that is allowed for indexing them.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** A collection of young objects takes 0.5 to 1 ms, the first of a process 14. */
const COLLECTED_BYTES = 4_000_000

type Collect = (options: { readonly type: 'minor' }) => void

/** The platform gives its collector to contexts that are made while this flag is set. */
function collector(): Collect | null {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('typeof gc === "function" ? gc : null')
  setFlagsFromString('--no-expose-gc')
  return collect as Collect | null
}

const collect = collector()

let bytesSince = 0

/** So many more bytes of some upload are needed no longer, counted over all uploads together. */
export function noteGarbage(bytes: number): void {
  bytesSince += bytes
  if (bytesSince < COLLECTED_BYTES) return
  bytesSince = 0
  collect?.({ type: 'minor' })
}
