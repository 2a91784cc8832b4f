/** Here is a batch: does it need its share of the memory for indexing, for which batches of other indexes may have to wait? */
import { stat } from 'node:fs/promises'
import type { Batch, Operation, Payload } from '../engine.js'

/** Bytes of all documents of a small batch; it takes some tenths of a second at most. */
const SMALL_BATCH_BYTES = 4 * 1024 * 1024

/** Whether a batch is written beside all others, since it is soon done. One with settings may read all documents again. */
export async function isSmallBatch({ operations }: Batch): Promise<boolean> {
  if (operations.some(({ kind }) => kind === 'settings')) return false
  let bytes = 0
  for (const operation of operations) {
    const payload = payloadOf(operation)
    if (payload !== null) bytes += await bytesOf(payload)
    if (bytes > SMALL_BATCH_BYTES) return false
  }
  return true
}

const payloadOf = (operation: Operation): Payload | null =>
  'payload' in operation ? operation.payload : null

/** A file that cannot be looked at is one for `prepare` to complain about. */
const bytesOf = async (payload: Payload): Promise<number> =>
  'text' in payload
    ? payload.text.length
    : await stat(payload.path).then(
        ({ size }) => size,
        () => 0,
      )
