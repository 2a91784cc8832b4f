/**
 * Decoder for messages of the plugin `pgoutput`, protocol 1. Values stay texts.
 *
 * https://www.postgresql.org/docs/current/protocol-logicalrep-message-formats.html
 */

export interface Relation {
  readonly oid: number
  readonly schema: string
  readonly name: string
  readonly columns: readonly string[]
}

/** Values of a row by the position of their column. null: NULL; undefined: not in the log. */
export type Tuple = readonly (string | null | undefined)[]

export type LogicalMessage =
  | { readonly kind: 'begin'; readonly xid: number; readonly committedMs: number }
  | { readonly kind: 'commit'; readonly end: bigint }
  | { readonly kind: 'relation'; readonly relation: Relation }
  /** `before` is the replica identity, or the complete row if it is FULL; null if the key has not changed. */
  | {
      readonly kind: 'row'
      readonly relation: number
      readonly before: Tuple | null
      readonly after: Tuple | null
    }
  | { readonly kind: 'truncate'; readonly relations: readonly number[] }
  | { readonly kind: 'other' }

/** Milliseconds from 1970 to 2000, where times of PostgreSQL begin. */
export const EPOCH_MS = 946_684_800_000

/** @throws Error if the message is malformed */
export function decodeMessage(bytes: Buffer): LogicalMessage {
  const reader = new Reader(bytes)
  switch (reader.letter()) {
    case 'B': {
      reader.int64()
      const committedMs = Number(reader.int64() / 1000n) + EPOCH_MS
      return { kind: 'begin', committedMs, xid: reader.uint32() }
    }
    case 'C':
      reader.skip(1 + 8)
      return { kind: 'commit', end: reader.int64() }
    case 'R':
      return { kind: 'relation', relation: relationOf(reader) }
    case 'I':
      return {
        kind: 'row',
        relation: reader.uint32(),
        before: null,
        after: tupleAfter(reader, reader.letter()),
      }
    case 'U': {
      const relation = reader.uint32()
      const part = reader.letter()
      if (part === 'N') return { kind: 'row', relation, before: null, after: tupleOf(reader) }
      const before = tupleOf(reader)
      return { kind: 'row', relation, before, after: tupleAfter(reader, reader.letter()) }
    }
    case 'D': {
      const relation = reader.uint32()
      reader.letter()
      return { kind: 'row', relation, before: tupleOf(reader), after: null }
    }
    case 'T': {
      const count = reader.uint32()
      reader.skip(1)
      return { kind: 'truncate', relations: Array.from({ length: count }, () => reader.uint32()) }
    }
    default:
      return { kind: 'other' }
  }
}

function relationOf(reader: Reader): Relation {
  const oid = reader.uint32()
  // An empty schema means pg_catalog.
  const schema = reader.text() || 'pg_catalog'
  const name = reader.text()
  reader.skip(1)
  const columns = Array.from({ length: reader.int16() }, () => {
    reader.skip(1)
    const column = reader.text()
    reader.skip(8)
    return column
  })
  return { oid, schema, name, columns }
}

function tupleAfter(reader: Reader, letter: string): Tuple {
  if (letter !== 'N') throw new Error(`pgoutput: expected a new row, received \`${letter}\``)
  return tupleOf(reader)
}

function tupleOf(reader: Reader): Tuple {
  return Array.from({ length: reader.int16() }, () => {
    const kind = reader.letter()
    if (kind === 'n') return null
    // An unchanged value that is stored apart from its row.
    if (kind === 'u') return undefined
    return reader.bytes(reader.uint32())
  })
}

class Reader {
  #at = 0
  readonly #bytes: Buffer

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  skip(count: number): void {
    this.#at += count
  }

  letter(): string {
    return String.fromCharCode(this.#bytes.readUInt8(this.#at++))
  }

  int16(): number {
    this.#at += 2
    return this.#bytes.readInt16BE(this.#at - 2)
  }

  uint32(): number {
    this.#at += 4
    return this.#bytes.readUInt32BE(this.#at - 4)
  }

  int64(): bigint {
    this.#at += 8
    return this.#bytes.readBigInt64BE(this.#at - 8)
  }

  text(): string {
    const end = this.#bytes.indexOf(0, this.#at)
    if (end < 0) throw new Error('pgoutput: a text has no end')
    const text = this.#bytes.toString('utf8', this.#at, end)
    this.#at = end + 1
    return text
  }

  bytes(length: number): string {
    this.#at += length
    if (this.#at > this.#bytes.length) throw new Error('pgoutput: a value is cut')
    return this.#bytes.toString('utf8', this.#at - length, this.#at)
  }
}
