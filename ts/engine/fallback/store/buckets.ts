/** Rounds positions to buckets: exact below 16, then in growing buckets. Source: search §3.3. */

const EXACT_MAX = 16
/** Positions from 16 on round up to this one or to a power of two. */
const FIRST_ROUNDED = 24
const FIRST_POWER = 5
const LAST_POWER = 31

/** The indexed position of each bucket, ascending. */
export const BUCKET_POSITIONS: readonly number[] = [
  ...Array.from({ length: EXACT_MAX }, (_, position) => position),
  FIRST_ROUNDED,
  ...Array.from({ length: LAST_POWER - FIRST_POWER + 1 }, (_, step) => 2 ** (FIRST_POWER + step)),
]

/** Number of the bucket of a position, which is below 2^31. */
export function positionBucket(position: number): number {
  if (position < EXACT_MAX) return position
  if (position < FIRST_ROUNDED) return EXACT_MAX
  // 32 minus the leading zeros of n - 1 is the logarithm of n, rounded up.
  return EXACT_MAX + 1 + (32 - Math.clz32(position - 1)) - FIRST_POWER
}
