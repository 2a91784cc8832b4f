/**
 * The body of an entry: what transactions of the task store changed, and what is new about the files of indexes.
 *
 * In bytes: the lengths of two texts (four bytes each, little endian), the rows as JSON, everything else of `Body` as JSON, and
 * the bytes of short parts of files, whose offsets are counted from the end of the texts.
 */
import type { FilesChange } from '../bucket/index.js'

/** A transaction of a task store, by the outbox that numbers it. */
export interface Reached {
  readonly outbox: string
  readonly last: number
}

export interface Body extends Reached {
  /** The changed rows, `RowChanges` as JSON; empty: none. */
  readonly rows: string
  /** Version of the tables that the rows are of. `outbox` and `last`: where they come from, and how far they go. */
  readonly schema: number
  /** Whether the rows are part of a state that a later entry of the same epoch completes, with the files. */
  readonly isOpen: boolean
  /** Uid and id of indexes that were there before the log, whose rows no entry has. */
  readonly adopted: readonly (readonly [uid: string, id: string])[]
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

export function encodeBody({ rows, inline, ...others }: Body): Buffer {
  const texts = [rows, JSON.stringify(others)].map((text) => Buffer.from(text))
  const head = Buffer.alloc(HEAD_BYTES)
  for (const [number, { length }] of texts.entries()) head.writeUInt32LE(length, 4 * number)
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
    ...(JSON.parse(buffer.toString('utf8', middle, end)) as Omit<Body, 'rows' | 'inline'>),
    rows: buffer.toString('utf8', HEAD_BYTES, middle),
    inline: buffer.subarray(end),
  }
}
