/**
 * The body of an entry: what transactions of the task store changed, and what is new about the files of indexes.
 *
 * In bytes: the lengths of two texts (four bytes each, little endian), the rows as JSON, everything else of `Body` as JSON, and
 * the bytes of short parts of files, whose offsets are counted from the end of the texts.
 */
import { type FilesChange, filesChangeShape, shapes } from '../bucket/index.js'
import { type RowChanges, replicatedTables } from '../tasks/index.js'

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

const damagedBody = (message: string): Error => new DamagedBodyError(message)

/** The shape of the id of an index, which names its directory and comes from outside this machine. */
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

const shape = shapes.object({
  outbox: shapes.text,
  last: shapes.integer(),
  schema: shapes.integer(),
  isOpen: shapes.flag,
  adopted: shapes.list(shapes.tuple(shapes.text, indexId)),
  files: shapes.record(indexId, filesChangeShape),
})

/** @param seq number of the entry @throws DamagedBodyError */
export function decodeBody(seq: number, bytes: Uint8Array): Body {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (buffer.length < HEAD_BYTES) throw new DamagedBodyError(`entry ${seq} is shorter than its head`)
  const middle = HEAD_BYTES + buffer.readUInt32LE(0)
  const end = middle + buffer.readUInt32LE(4)
  if (end > buffer.length) throw new DamagedBodyError(`entry ${seq} is shorter than its texts`)
  const json = buffer.toString('utf8', middle, end)
  const others = shapes.readShape<Omit<Body, 'rows' | 'inline'>>(json, `entry ${seq}`, shape, damagedBody)
  const { outbox, last, schema, isOpen, adopted, files } = others
  return {
    ...{ outbox, last, schema, isOpen, adopted, files },
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

/** The rows of a body, whose version was checked. @throws DamagedBodyError */
export const rowsOf = (seq: number, { rows }: Pick<Body, 'rows'>): RowChanges =>
  shapes.readShape(rows, `the rows of entry ${seq}`, rowsShape, damagedBody)
