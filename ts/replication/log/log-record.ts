import { crc32 } from 'node:zlib'
import { shapes } from '../../parse/index.js'
import { RECORD_BYTES_MAX } from '../object-store/limits.js'
import { isSealed, SEALED_MESSAGE } from '../object-store/sealed-store.js'
import { LOG_FORMAT, NewerFormatError } from './format.js'

/**
 * A record of the log. A fence starts the records of a writer; its number is the epoch of that writer.
 *
 * In bytes: `SFLG`, `LOG_FORMAT` (one byte), the length of the head (four bytes, little endian), the head as JSON, the
 * body, and the CRC-32 of everything before (four bytes, little endian). Every format begins and ends like this.
 */
export interface LogRecord {
  readonly kind: 'fence' | 'changes'
  /** The instance that the log belongs to, a UUID. */
  readonly instanceUid: string
  /** Number of the fence of its writer. For a fence, its own number. */
  readonly epoch: number
  /** Random for each record, so that the writer recognizes its own record. */
  readonly writeId: string
  /** HTTP address of the writer for followers; null: it has none. */
  readonly address: string | null
  /** Identity of the data directory of the writer. Restarts do not change it. */
  readonly writer: string
  /** Milliseconds since 1970 by the clock of the writer. Used to restore a point in time. */
  readonly writtenAt: number
  readonly body: Uint8Array
}

/** A log record that cannot be read. Records after it are not read either. */
export class DamagedRecordError extends Error {
  override readonly name = 'DamagedRecordError'
}

const MAGIC = Buffer.from('SFLG')
const HEAD_AT = MAGIC.length + 1 + 4

const headShape = shapes.object({
  kind: shapes.oneOf('fence', 'changes'),
  instanceUid: shapes.text,
  epoch: shapes.integer(),
  writeId: shapes.text,
  address: shapes.orNull(shapes.text),
  writer: shapes.text,
  writtenAt: shapes.integer(),
})

export function encodeRecord({ body, ...head }: LogRecord): Buffer {
  const text = Buffer.from(JSON.stringify(head))
  const length = Buffer.alloc(4)
  length.writeUInt32LE(text.length)
  const content = Buffer.concat([MAGIC, Buffer.of(LOG_FORMAT), length, text, body])
  const sum = Buffer.alloc(4)
  sum.writeUInt32LE(crc32(content))
  const bytes = Buffer.concat([content, sum])
  if (bytes.length > RECORD_BYTES_MAX)
    throw new Error(`a log record of ${bytes.length} bytes is longer than ${RECORD_BYTES_MAX}`)
  return bytes
}

/** @param name of the record, for messages @throws DamagedRecordError, NewerFormatError */
export function decodeRecord(bytes: Buffer, name = 'a log record'): LogRecord {
  if (isSealed(bytes)) throw new DamagedRecordError(SEALED_MESSAGE)
  if (bytes.length < HEAD_AT + 4 || !bytes.subarray(0, MAGIC.length).equals(MAGIC))
    throw new DamagedRecordError('it is no log record')
  const content = bytes.subarray(0, -4)
  if (crc32(content) !== bytes.readUInt32LE(content.length))
    throw new DamagedRecordError('its bytes do not have their checksum')
  const format = bytes.readUInt8(MAGIC.length)
  if (format > LOG_FORMAT)
    throw new NewerFormatError(name, `format ${format}, this one reads up to ${LOG_FORMAT}`)
  const bodyAt = HEAD_AT + bytes.readUInt32LE(MAGIC.length + 1)
  if (bodyAt > content.length) throw new DamagedRecordError('its head is longer than the record')
  const json = content.toString('utf8', HEAD_AT, bodyAt)
  const damaged = (message: string) => new DamagedRecordError(message)
  const head = shapes.readShape<Omit<LogRecord, 'body'>>(json, 'its head', headShape, damaged)
  return { ...head, body: content.subarray(bodyAt) }
}
