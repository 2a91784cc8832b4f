/**
 * The body of an entry with changes: of the task store, and of the files of indexes.
 *
 * In bytes: the length of the text (four bytes, little endian), the text as JSON, and the bytes of short parts of files,
 * whose places are counted from the end of the text.
 */
import type { FilesChange } from './file-parts.js'

export interface Body {
  /** What transactions of the task store changed, as JSON text of its own. */
  readonly rows: string | null
  /** Id of an index → what is new about its files. */
  readonly files: Readonly<Record<string, FilesChange>>
  /** Bytes of parts that have no object of their own. */
  readonly inline: Uint8Array
}

/** A body that cannot be read. */
export class DamagedBodyError extends Error {
  override readonly name = 'DamagedBodyError'
}

const LENGTH_BYTES = 4

export function encodeBody({ rows, files, inline }: Body): Buffer {
  const text = Buffer.from(JSON.stringify({ rows, files }))
  const length = Buffer.alloc(LENGTH_BYTES)
  length.writeUInt32LE(text.length)
  return Buffer.concat([length, text, inline])
}

/** @throws DamagedBodyError */
export function decodeBody(bytes: Uint8Array): Body {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const end = buffer.length < LENGTH_BYTES ? Number.NaN : LENGTH_BYTES + buffer.readUInt32LE(0)
  if (!(end <= buffer.length)) throw new DamagedBodyError('an entry is shorter than its text')
  const { rows, files } = JSON.parse(buffer.toString('utf8', LENGTH_BYTES, end)) as Omit<Body, 'inline'>
  return { rows, files, inline: buffer.subarray(end) }
}
