/**
 * Distances and similarities of vectors.
 *
 * Source: vectors §6.5. All in 32-bit floats. Sums run in 16 lanes that are added pairwise at the end. The native
 * engine adds 16 at a time, so both print the same digits.
 */
import type { Shift } from './embedder.js'

const LANES = 16
const { fround } = Math

/** Dot product of `length` components of `a` from `atA` and `b` from `atB`. */
function dot(a: Float32Array, atA: number, b: Float32Array, atB: number, length: number): number {
  const lanes = new Float32Array(LANES)
  for (let at = 0; at < length; at++) {
    const lane = at % LANES
    lanes[lane] = lanes[lane]! + fround(a[atA + at]! * b[atB + at]!)
  }
  for (let half = LANES / 2; half >= 1; half /= 2)
    for (let lane = 0; lane < half; lane++) lanes[lane] = lanes[lane]! + lanes[lane + half]!
  return lanes[0]!
}

/** Length of a vector, as a 32-bit float. */
export const norm = (a: Float32Array, at: number, length: number): number =>
  fround(Math.sqrt(dot(a, at, a, at, length)))

/**
 * Half the cosine distance, (1 − cosine) / 2: between 0 and 1. A zero vector has distance 0 to all.
 * @param product dot product @param norms product of the lengths
 */
function fromCosine(product: number, norms: number): number {
  if (norms === 0) return 0
  const distance = fround(fround(1 - fround(product / norms)) / 2)
  return Math.min(1, Math.max(0, distance))
}

/** Fallback in 64 bits, for components whose squares overflow 32-bit floats. */
function wideDistance(a: Float32Array, b: Float32Array, atB: number): number {
  let [product, left, right] = [0, 0, 0]
  for (let at = 0; at < a.length; at++) {
    const [x, y] = [a[at]!, b[atB + at]!]
    product += x * y
    left += x * x
    right += y * y
  }
  const norms = Math.sqrt(left) * Math.sqrt(right)
  return norms === 0 ? 0 : fromCosine(fround(product / norms), 1)
}

/** Distances of vectors to a query. */
export class Query {
  private readonly vector: Float32Array
  private readonly norm: number

  constructor(vector: Float32Array) {
    this.vector = vector
    this.norm = norm(vector, 0, vector.length)
  }

  /** @param rowNorm length of the vector at `at` of `rows` */
  distance(rows: Float32Array, at: number, rowNorm: number): number {
    const product = dot(this.vector, 0, rows, at, this.vector.length)
    const norms = fround(this.norm * rowNorm)
    if (Number.isFinite(product) && Number.isFinite(norms)) return fromCosine(product, norms)
    return wideDistance(this.vector, rows, at)
  }
}

/** Distances of binary vectors to a query, by the number of differing components. */
export class BinaryQuery {
  private readonly bits: Float32Array
  private readonly padded: number

  constructor(vector: Float32Array) {
    this.bits = quantized(vector)
    this.padded = 64 * Math.ceil(vector.length / 64)
  }

  distance(rows: Float32Array, at: number): number {
    const { bits } = this
    let differing = 0
    for (let bit = 0; bit < bits.length; bit++) if (bits[bit] !== rows[at + bit]) differing++
    return fround(differing / this.padded)
  }
}

/** Quantizes vectors to one bit per component. */
export const quantized = (rows: Float32Array): Float32Array =>
  rows.map((component) => (component > 0 ? 1 : 0))

/** Displayed value of scores of 0 or less: the step of 32-bit floats at 1. */
const LEAST_SHIFTED = 2 ** -23

/** Displayed similarity of a distance: 1 − distance, adjusted by `shift`. */
export function similarity(distance: number, shift: Shift | null): number {
  const plain = fround(1 - distance)
  if (shift === null) return plain
  const factor = fround(fround(0.4) / fround(shift.sigma))
  const offset = fround(0.5 - fround(factor * fround(shift.mean)))
  const shifted = fround(fround(factor * plain) + offset)
  // A tiny sigma overflows the factor. The native engine shows 1 for a sum that is then undefined.
  if (Number.isNaN(shifted)) return 1
  return shifted <= 0 ? LEAST_SHIFTED : Math.min(1, shifted)
}
