import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

const compressed = promisify(gzip)

/** Bytes of each part that is compressed by itself. */
const MEMBER_BYTES = 1024 * 1024

/** Parts compressed at a time. The thread pool of Node.js has four threads. */
const MEMBERS_AT_ONCE = 4

/**
 * Compresses parts of a stream at the same time. The result is a gzip file of several members, which readers take for
 * one; those of some other programs end at the first. Source: RFC 1952 §2.2.
 * @param level of zlib, 1 for the fastest
 */
export async function* gzipMembers(chunks: AsyncIterable<Buffer>, level: number): AsyncGenerator<Buffer> {
  const underWay: Promise<Buffer>[] = []
  for await (const part of partsOf(chunks)) {
    const member = compressed(part, { level })
    // A failure is thrown when its turn comes, which may be after it happened.
    member.catch(() => undefined)
    underWay.push(member)
    if (underWay.length === MEMBERS_AT_ONCE) yield await underWay.shift()!
  }
  for (const member of underWay) yield await member
}

/** The same bytes in parts of `MEMBER_BYTES` or somewhat more. */
async function* partsOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let [gathered, bytes]: [Buffer[], number] = [[], 0]
  for await (const chunk of chunks) {
    gathered.push(chunk)
    bytes += chunk.length
    if (bytes < MEMBER_BYTES) continue
    yield Buffer.concat(gathered, bytes)
    gathered = []
    bytes = 0
  }
  if (bytes > 0) yield Buffer.concat(gathered, bytes)
}
