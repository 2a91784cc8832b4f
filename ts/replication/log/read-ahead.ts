import { linkedSignal } from '../../outbound/index.js'
import { READ_AHEAD, READ_AHEAD_BYTES } from '../object-store/limits.js'
import type { LogRecord } from './log-record.js'

/**
 * Yields the records of a log from `from` to `last` or its end. Reads several at a time, since each takes a round trip.
 * The number starts at 1 and doubles with each record found, so that polling for a new record is one call. Reads in
 * progress are aborted when the consumer stops.
 * @param read returns null at the end of the log
 * @param most records to read at a time
 */
export async function* readAhead(
  read: (seq: number, signal: AbortSignal) => Promise<LogRecord | null>,
  { from, last }: { readonly from: number; readonly last: number },
  signal: AbortSignal,
  most: number = READ_AHEAD,
): AsyncGenerator<LogRecord, void> {
  const stop = new AbortController()
  const { signal: both, unlink } = linkedSignal([signal, stop.signal])
  const ahead: Promise<LogRecord | null>[] = []
  try {
    for (let [seq, begun, atOnce] = [from, from, 1]; seq <= last; seq++) {
      for (; begun < seq + atOnce && begun <= last; begun++) {
        const reading = read(begun, both)
        // The failure is reported when its record is awaited.
        reading.catch(() => undefined)
        ahead.push(reading)
      }
      const record = (await ahead.shift()) ?? null
      if (record === null) return
      const fitting = Math.floor(READ_AHEAD_BYTES / Math.max(1, record.body.length))
      atOnce = Math.max(1, Math.min(2 * atOnce, most, fitting))
      yield record
    }
  } finally {
    stop.abort()
    unlink()
  }
}
