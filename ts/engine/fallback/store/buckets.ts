/** Rounds positions to buckets. Source: search §3.3. */

/** Returns the indexed position of a word: exact below 16, then in growing buckets. */
export function bucketedPosition(position: number): number {
  if (position < 16) return position
  if (position < 24) return 24
  return 2 ** Math.ceil(Math.log2(position))
}
