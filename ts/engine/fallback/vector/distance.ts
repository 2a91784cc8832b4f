/**
 * How alike are two vectors?
 *
 * Source: vectors §6.5. All in 32-bit floats: sums run in 16 lanes that are added pairwise at the
 * end, so that the native engine, which adds 16 at a time, prints the same digits.
 */
import type { Shift } from './embedder.js'

const LANES = 16
const { fround } = Math

/** Sum of products of `length` components, of `a` from `atA` on and of `b` from `atB` on. */
export function dot(a: Float32Array, atA: number, b: Float32Array, atB: number, length: number): number {
  const lanes = new Float32Array(LANES)
  for (let at = 0; at < length; at++) {
    const lane = at % LANES
    lanes[lane] = lanes[lane]! + fround(a[atA + at]! * b[atB + at]!)
  }
  for (let half = LANES / 2; half >= 1; half /= 2)
    for (let lane = 0; lane < half; lane++) lanes[lane] = lanes[lane]! + lanes[lane + half]!
  return lanes[0]!
}

/** The length of a vector, as a 32-bit float. */
export const norm = (a: Float32Array, at: number, length: number): number =>
  fround(Math.sqrt(dot(a, at, a, at, length)))

/**
 * Half of what the cosine lacks to 1: between 0 and 1. A vector without direction is near to all.
 * @param product sum of products @param norms product of the lengths
 */
function fromCosine(product: number, norms: number): number {
  if (norms === 0) return 0
  const distance = fround(fround(1 - fround(product / norms)) / 2)
  return Math.min(1, Math.max(0, distance))
}

/** Components whose squares no 32-bit float holds are compared in 64 bits. */
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

/** Distances of vectors to one query. */
export class Query {
  private readonly vector: Float32Array
  private readonly norm: number

  constructor(vector: Float32Array) {
    this.vector = vector
    this.norm = norm(vector, 0, vector.length)
  }

  /** @param itsNorm length of the vector at `at` of `rows` */
  distance(rows: Float32Array, at: number, itsNorm: number): number {
    const product = dot(this.vector, 0, rows, at, this.vector.length)
    const norms = fround(this.norm * itsNorm)
    if (Number.isFinite(product) && Number.isFinite(norms)) return fromCosine(product, norms)
    return wideDistance(this.vector, rows, at)
  }
}

/** Distances of vectors of zeros and ones to one query, by the components that differ. */
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

/** What is left of vectors by one bit per component. */
export const quantized = (rows: Float32Array): Float32Array =>
  rows.map((component) => (component > 0 ? 1 : 0))

/** What a score of 0 or less is shown as: the step of 32-bit floats at 1. */
const LEAST_SHIFTED = 2 ** -23

/** The likeness that is shown for a distance: 1 − distance, spread by `shift`. */
export function similarity(distance: number, shift: Shift | null): number {
  const plain = fround(1 - distance)
  if (shift === null) return plain
  const factor = fround(fround(0.4) / fround(shift.sigma))
  const offset = fround(0.5 - fround(factor * fround(shift.mean)))
  const shifted = fround(fround(factor * plain) + offset)
  return shifted <= 0 ? LEAST_SHIFTED : Math.min(1, shifted)
}
