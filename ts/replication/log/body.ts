/**
 * The body of a log record: rows of the task store that transactions changed, and changes of index files.
 *
 * In bytes: the lengths of two texts (four bytes each, little endian), the rows as JSON, the other fields of `Body` as
 * JSON, and the inline parts of files. Offsets of inline parts count from the end of the texts.
 */

import { shapes } from '../../parse/index.js'
import { type RowChanges, replicatedTables } from '../../tasks/index.js'
import { type FilesChange, filesChangeShape } from '../object-store/index.js'

/** A transaction of a task store: the outbox that numbers it, and its number. */
export interface Reached {
  readonly outbox: string
  readonly last: number
}

export interface Body extends Reached {
  /** The changed rows, `RowChanges` as JSON; empty: none. */
  readonly rows: string
  /** Schema version of the tables of the rows. `outbox` and `last`: their source, and the last transaction in them. */
  readonly schema: number
  /** True if the state is incomplete: a later record of the same epoch completes it and has the files. */
  readonly isOpen: boolean
  /** Uid and id of indexes that are older than the log. No log record has their rows. */
  readonly adopted: readonly (readonly [uid: string, id: string])[]
  /** Id of an index → changes of its files. */
  readonly files: Readonly<Record<string, FilesChange>>
  /** Identity of the data directory whose server shall take over; absent: none. */
  readonly handover?: string
  /** Bytes of the parts that have no object of their own. */
  readonly inline: Uint8Array
}

/** A body that cannot be read. */
export class DamagedBodyError extends Error {
  override readonly name = 'DamagedBodyError'
}

const damagedBody = (message: string): Error => new DamagedBodyError(message)

/** The shape of the id of an index. The id names a directory and comes from outside this machine, so it is checked. */
export const indexId = shapes.textThat('the id of an index', (id) =>
  /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id),
)

const HEAD_BYTES = 8

export function encodeBody({ rows, inline, ...others }: Body): Buffer {
  const texts = [rows, JSON.stringify(others)].map((text) => Buffer.from(text))
  const head = Buffer.alloc(HEAD_BYTES)
  for (const [number, { length }] of texts.entries()) head.writeUInt32LE(length, 4 * number)
  return Buffer.concat([head, ...texts, inline])
}

const shape = shapes.object(
  {
    outbox: shapes.text,
    last: shapes.integer(),
    schema: shapes.integer(),
    isOpen: shapes.flag,
    adopted: shapes.list(shapes.tuple(shapes.text, indexId)),
    files: shapes.record(indexId, filesChangeShape),
  },
  { handover: shapes.text },
)

/** @param seq number of the log record @throws DamagedBodyError */
export function decodeBody(seq: number, bytes: Uint8Array): Body {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (buffer.length < HEAD_BYTES) throw new DamagedBodyError(`log record ${seq} is shorter than its head`)
  const middle = HEAD_BYTES + buffer.readUInt32LE(0)
  const end = middle + buffer.readUInt32LE(4)
  if (end > buffer.length) throw new DamagedBodyError(`log record ${seq} is shorter than its texts`)
  const json = buffer.toString('utf8', middle, end)
  const others = shapes.readShape<Omit<Body, 'rows' | 'inline'>>(
    json,
    `log record ${seq}`,
    shape,
    damagedBody,
  )
  const { outbox, last, schema, isOpen, adopted, files, handover } = others
  return {
    ...{ outbox, last, schema, isOpen, adopted, files },
    ...(handover !== undefined && { handover }),
    rows: buffer.toString('utf8', HEAD_BYTES, middle),
    inline: buffer.subarray(end),
  }
}

const keyOfRow = shapes.anyOf('a text or a number', shapes.text, shapes.number)

/** Name of a table → the shape of its changes. */
const tables = replicatedTables.map(({ name, key, columns }) => {
  const cells = columns.split(', ').map((column) => {
    if (name === 'catalogue' && column === 'id') return indexId
    return column === key ? keyOfRow : shapes.scalar
  })
  const changes = { rows: shapes.list(shapes.tuple(...cells)), gone: shapes.list(shapes.tuple(keyOfRow)) }
  return [name, shapes.object(changes)] as const
})

const rowsShape = shapes.someOf(Object.fromEntries(tables))

/** Decodes the rows of a body. The caller has checked their schema version. @throws DamagedBodyError */
export const rowsOf = (seq: number, { rows }: Pick<Body, 'rows'>): RowChanges =>
  shapes.readShape(rows, `the rows of log record ${seq}`, rowsShape, damagedBody)
