import { crc32 } from 'node:zlib'
import { ENTRY_BYTES_MAX } from './limits.js'
import { isSealed, SEALED_MESSAGE } from './sealed-store.js'
import { integer, object, oneOf, orNull, readShape, text } from './shape.js'

/**
 * What stands at a number of the log. A fence says whose entries follow; its number is the epoch of that writer.
 *
 * In bytes: `SFLG`, the version of the format (one byte), the length of the head (four bytes, little endian), the head
 * as JSON, the body, and the CRC-32 of everything before (four bytes, little endian).
 */
export interface Entry {
  readonly kind: 'fence' | 'changes'
  /** The instance that the log belongs to, a UUID. */
  readonly instanceUid: string
  /** Number of the fence of its writer; a fence's own. */
  readonly epoch: number
  /** Drawn by lot for each entry, so that its writer knows it again. */
  readonly writeId: string
  /** Where followers reach the writer over HTTP; null: nowhere. */
  readonly address: string | null
  /** Identity of the data directory that its writer sends, the same after each start. */
  readonly writer: string
  /** Milliseconds since 1970 by the clock of its writer, for people who look for a moment. */
  readonly writtenAt: number
  readonly body: Uint8Array
}

/** An entry that cannot be read. Nothing behind it is read either. */
export class DamagedEntryError extends Error {
  override readonly name = 'DamagedEntryError'
}

const MAGIC = Buffer.from('SFLG')
const VERSION = 1
const HEAD_AT = MAGIC.length + 1 + 4

const headShape = object({
  kind: oneOf('fence', 'changes'),
  instanceUid: text,
  epoch: integer(),
  writeId: text,
  address: orNull(text),
  writer: text,
  writtenAt: integer(),
})

export function encodeEntry({ body, ...head }: Entry): Buffer {
  const text = Buffer.from(JSON.stringify(head))
  const length = Buffer.alloc(4)
  length.writeUInt32LE(text.length)
  const content = Buffer.concat([MAGIC, Buffer.of(VERSION), length, text, body])
  const sum = Buffer.alloc(4)
  sum.writeUInt32LE(crc32(content))
  const bytes = Buffer.concat([content, sum])
  if (bytes.length > ENTRY_BYTES_MAX)
    throw new Error(`an entry of ${bytes.length} bytes is longer than ${ENTRY_BYTES_MAX}`)
  return bytes
}

/** @throws DamagedEntryError */
export function decodeEntry(bytes: Buffer): Entry {
  if (isSealed(bytes)) throw new DamagedEntryError(SEALED_MESSAGE)
  if (bytes.length < HEAD_AT + 4 || !bytes.subarray(0, MAGIC.length).equals(MAGIC))
    throw new DamagedEntryError('it is no entry of a log')
  const version = bytes[MAGIC.length]
  if (version !== VERSION)
    throw new DamagedEntryError(`its format has the version ${version}, and this build reads ${VERSION}`)
  const content = bytes.subarray(0, -4)
  if (crc32(content) !== bytes.readUInt32LE(content.length))
    throw new DamagedEntryError('its bytes do not have their checksum')
  const bodyAt = HEAD_AT + bytes.readUInt32LE(MAGIC.length + 1)
  if (bodyAt > content.length) throw new DamagedEntryError('its head is longer than the entry')
  const json = content.toString('utf8', HEAD_AT, bodyAt)
  const damaged = (message: string) => new DamagedEntryError(message)
  const head = readShape<Omit<Entry, 'body'>>(json, 'its head', headShape, damaged)
  return { ...head, body: content.subarray(bodyAt) }
}
