/** Decides if a batch may skip the queue for indexing memory. */
import { stat } from 'node:fs/promises'
import type { Batch, Operation, Payload } from '../batches.js'

/** Maximum document bytes of a small batch. Indexing it takes some tenths of a second at most. */
const SMALL_BATCH_BYTES = 4 * 1024 * 1024

/**
 * Returns true for a batch that is indexed without waiting for other batches, since it takes little time. A batch with
 * settings is never small, because it may read all documents again.
 */
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

/** A file that cannot be read counts 0 bytes; `prepare` reports the error. */
const bytesOf = async (payload: Payload): Promise<number> =>
  'text' in payload
    ? payload.text.length
    : await stat(payload.path).then(
        ({ size }) => size,
        () => 0,
      )
