import type { Entry } from './entry.js'
import { READ_AHEAD, READ_AHEAD_BYTES } from './limits.js'

/**
 * The entries of a log from `from` to its end, several of which are read at a time, since each takes a round trip. The
 * number doubles with each entry that is there, so that a look for a new one stays one call. What was read ahead is given up
 * when the loop over the entries ends.
 * @param read gives null where the log ends
 * @param most entries that are read at a time
 */
export async function* readAhead(
  read: (seq: number, signal: AbortSignal) => Promise<Entry | null>,
  from: number,
  signal: AbortSignal,
  most: number = READ_AHEAD,
): AsyncGenerator<Entry, void> {
  const stop = new AbortController()
  const both = AbortSignal.any([signal, stop.signal])
  const ahead: Promise<Entry | null>[] = []
  try {
    for (let [seq, begun, atOnce] = [from, from, 1]; ; seq++) {
      for (; begun < seq + atOnce; begun++) {
        const reading = read(begun, both)
        // A failure counts once its entry is asked for.
        reading.catch(() => undefined)
        ahead.push(reading)
      }
      const entry = (await ahead.shift()) ?? null
      if (entry === null) return
      const fitting = Math.floor(READ_AHEAD_BYTES / Math.max(1, entry.body.length))
      atOnce = Math.max(1, Math.min(2 * atOnce, most, fitting))
      yield entry
    }
  } finally {
    stop.abort()
  }
}
