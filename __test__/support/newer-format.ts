import { crc32 } from 'node:zlib'

/** Offset of the byte for the format in log records and checkpoints. */
const FORMAT_AT = 4

/** Returns a log record or checkpoint with a byte for another format. */
export function withFormat(bytes: Buffer, format: number): Buffer {
  const changed = Buffer.from(bytes)
  changed[FORMAT_AT] = format
  changed.writeUInt32LE(crc32(changed.subarray(0, -4)), changed.length - 4)
  return changed
}
