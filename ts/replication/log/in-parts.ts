/** Splits a stream into parts of at least `bytesMin` bytes, except for the last one. No part is empty. */
export async function* inParts(stream: AsyncIterable<Buffer>, bytesMin: number): AsyncGenerator<Buffer> {
  let waiting: Buffer[] = []
  let length = 0
  for await (const bytes of stream) {
    waiting.push(bytes)
    length += bytes.length
    if (length < bytesMin) continue
    yield Buffer.concat(waiting)
    waiting = []
    length = 0
  }
  if (length > 0) yield Buffer.concat(waiting)
}
