/**
 * Encodes and decodes sets of numbers as Roaring bitmaps.
 *
 * The portable format (github.com/RoaringBitmap/RoaringFormatSpec), little endian:
 *
 *     bitmap    = 12346 u32, containers u32, header*, offset u32*, container*
 *               | 12347 u16, containers - 1 u16, one bit per container (has runs), header*, [offset u32*], container*
 *     header    = upper half of the values u16, values - 1 u16
 *     container = values u16*        up to 4,096 values
 *               | 8,192 bytes of bits above
 *               | runs u16, (first u16, length - 1 u16)*
 *
 * The second form has offsets from four containers on, the first form always.
 */

const PLAIN = 12346
const WITH_RUNS = 12347
const ARRAY_VALUES_MAX = 4096
const BITS_BYTES = 8192
const OFFSETS_FROM_CONTAINERS = 4
/** Values of a decoded bitmap. A few bytes can encode billions; no queue has that many tasks. */
const VALUES_MAX = 10_000_000

/** Encodes a set. @param values unsigned 32-bit numbers, ascending, without duplicates */
export function encodeRoaring(values: readonly number[]): Buffer {
  const containers = new Map<number, number[]>()
  for (const value of values) {
    const upper = value >>> 16
    const lower = containers.get(upper)
    if (lower === undefined) containers.set(upper, [value & 0xffff])
    else lower.push(value & 0xffff)
  }
  const bodies = [...containers.values()].map(containerOf)
  const head = Buffer.alloc(8 + 8 * bodies.length)
  head.writeUInt32LE(PLAIN, 0)
  head.writeUInt32LE(bodies.length, 4)
  let at = 8
  for (const [upper, lower] of containers) {
    head.writeUInt16LE(upper, at)
    head.writeUInt16LE(lower.length - 1, at + 2)
    at += 4
  }
  let offset = head.length
  for (const body of bodies) {
    at = head.writeUInt32LE(offset, at)
    offset += body.length
  }
  return Buffer.concat([head, ...bodies])
}

function containerOf(lower: readonly number[]): Buffer {
  if (lower.length <= ARRAY_VALUES_MAX) {
    const body = Buffer.alloc(2 * lower.length)
    for (const [position, value] of lower.entries()) body.writeUInt16LE(value, 2 * position)
    return body
  }
  const body = Buffer.alloc(BITS_BYTES)
  for (const value of lower) body[value >>> 3] = (body[value >>> 3] ?? 0) | (1 << (value & 7))
  return body
}

/** Decodes a set, ascending. @throws RangeError if the bytes are not a bitmap */
export function decodeRoaring(bytes: Buffer): readonly number[] {
  const cookie = bytes.readUInt32LE(0)
  const hasRuns = (cookie & 0xffff) === WITH_RUNS
  if (!hasRuns && cookie !== PLAIN) throw new RangeError('not a Roaring bitmap')
  const count = hasRuns ? (cookie >>> 16) + 1 : bytes.readUInt32LE(4)
  const runFlags = hasRuns ? 4 : -1
  const headers = hasRuns ? 4 + Math.ceil(count / 8) : 8
  const hasOffsets = !hasRuns || count >= OFFSETS_FROM_CONTAINERS
  if (count > 0x10000) throw new RangeError(`a Roaring bitmap cannot have ${count} containers`)
  const values: number[] = []
  let at = headers + 4 * count + (hasOffsets ? 4 * count : 0)
  for (let container = 0; container < count; container++) {
    const base = bytes.readUInt16LE(headers + 4 * container) * 0x10000
    const size = bytes.readUInt16LE(headers + 4 * container + 2) + 1
    const isRuns = hasRuns && ((bytes.readUInt8(runFlags + (container >>> 3)) >>> (container & 7)) & 1) === 1
    if (values.length > VALUES_MAX) throw new RangeError(`a Roaring bitmap of more than ${VALUES_MAX} values`)
    if (isRuns) at = readRuns(bytes, at, base, values)
    else if (size <= ARRAY_VALUES_MAX) {
      for (let i = 0; i < size; i++) values.push(base + bytes.readUInt16LE(at + 2 * i))
      at += 2 * size
    } else {
      for (let bit = 0; bit < 0x10000; bit++) {
        if (((bytes.readUInt8(at + (bit >>> 3)) >>> (bit & 7)) & 1) === 1) values.push(base + bit)
      }
      at += BITS_BYTES
    }
  }
  return values
}

function readRuns(bytes: Buffer, start: number, base: number, values: number[]): number {
  const runs = bytes.readUInt16LE(start)
  let at = start + 2
  for (let run = 0; run < runs; run++, at += 4) {
    const first = bytes.readUInt16LE(at)
    const last = Math.min(0xffff, first + bytes.readUInt16LE(at + 2))
    for (let value = first; value <= last; value++) values.push(base + value)
  }
  return at
}
