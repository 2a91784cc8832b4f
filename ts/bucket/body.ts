/**
 * The body of an entry with changes: of the task store, and of the files of indexes.
 *
 * In bytes: the lengths of two texts (four bytes each, little endian), the changes of rows as their writer encoded them, the
 * changes of files as JSON, and the bytes of short parts of files, whose places are counted from the end of the texts.
 */
import type { FilesChange } from './file-parts.js'

export interface Body {
  /** What transactions of the task store changed, as text of the store; empty: nothing. */
  readonly rows: string
  /** Id of an index → what is new about its files. */
  readonly files: Readonly<Record<string, FilesChange>>
  /** Bytes of parts that have no object of their own. */
  readonly inline: Uint8Array
}

/** A body that cannot be read. */
export class DamagedBodyError extends Error {
  override readonly name = 'DamagedBodyError'
}

const HEAD_BYTES = 8

export function encodeBody({ rows, files, inline }: Body): Buffer {
  const texts = [rows, JSON.stringify(files)].map((text) => Buffer.from(text))
  const head = Buffer.alloc(HEAD_BYTES)
  for (const [at, { length }] of texts.entries()) head.writeUInt32LE(length, 4 * at)
  return Buffer.concat([head, ...texts, inline])
}

/** @throws DamagedBodyError */
export function decodeBody(bytes: Uint8Array): Body {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (buffer.length < HEAD_BYTES) throw new DamagedBodyError('an entry is shorter than its head')
  const middle = HEAD_BYTES + buffer.readUInt32LE(0)
  const end = middle + buffer.readUInt32LE(4)
  if (end > buffer.length) throw new DamagedBodyError('an entry is shorter than its texts')
  return {
    rows: buffer.toString('utf8', HEAD_BYTES, middle),
    files: JSON.parse(buffer.toString('utf8', middle, end)) as Body['files'],
    inline: buffer.subarray(end),
  }
}
