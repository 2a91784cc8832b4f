/** Reads parts of files from an object store several at a time, since each takes a round trip. */
import { PARTS_AHEAD, PARTS_AHEAD_BYTES } from './limits.js'

/**
 * Yields the bytes of `parts` in their order. Up to `PARTS_AHEAD` parts are requested at the same time, of at most
 * `PARTS_AHEAD_BYTES` bytes together unless the next part alone has more.
 * @throws whatever `read` throws for a part, when its turn comes
 */
export async function* partsAhead<P extends { readonly bytes: number }>(
  parts: readonly P[],
  read: (part: P) => Promise<Uint8Array>,
): AsyncGenerator<Uint8Array, void> {
  const ahead: { readonly bytes: number; readonly reading: Promise<Uint8Array> }[] = []
  let bytesAhead = 0
  for (let begun = 0; ; ) {
    for (
      let next = parts[begun];
      next !== undefined &&
      (ahead.length === 0 || (ahead.length < PARTS_AHEAD && bytesAhead + next.bytes <= PARTS_AHEAD_BYTES));
      next = parts[++begun]
    ) {
      const reading = read(next)
      // A failure is reported when the part's turn comes.
      reading.catch(() => undefined)
      ahead.push({ bytes: next.bytes, reading })
      bytesAhead += next.bytes
    }
    const first = ahead.shift()
    if (first === undefined) return
    yield await first.reading
    bytesAhead -= first.bytes
  }
}
