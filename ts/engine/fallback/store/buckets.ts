/** Positions as the index knows them: exact at first, then in growing buckets. Source: search §3.3. */

/** The position under which the index knows a word: exact below 16, then in growing buckets. */
export function bucketedPosition(position: number): number {
  if (position < 16) return position
  if (position < 24) return 24
  return 2 ** Math.ceil(Math.log2(position))
}
