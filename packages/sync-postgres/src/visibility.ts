/** Snapshots of PostgreSQL: `xmin:xmax:xip,…` with numbers of 64 bits. */

const ROUND = 1n << 32n

/**
 * Returns true if a snapshot sees all transactions, which have committed. @param xids lower 32 bits of their numbers, as
 * the log contains them
 */
export function areVisible(xids: Iterable<number>, snapshot: string): boolean {
  const { xmin, xmax, running } = parsed(snapshot)
  for (const xid of xids) {
    // Transactions are at most 2^31 apart.
    let distance = (BigInt(xid) - (xmax % ROUND) + ROUND) % ROUND
    if (distance >= ROUND / 2n) distance -= ROUND
    const full = xmax + distance
    if (full >= xmax || (full >= xmin && running.has(full))) return false
  }
  return true
}

/** Returns true if all transactions that the first snapshot did not see have ended in the second. */
export function hasSettled(first: string, second: string): boolean {
  return parsed(second).xmin >= parsed(first).xmax
}

function parsed(snapshot: string): {
  readonly xmin: bigint
  readonly xmax: bigint
  readonly running: ReadonlySet<bigint>
} {
  const [xmin = '0', xmax = '0', running = ''] = snapshot.split(':')
  const list = running === '' ? [] : running.split(',').map(BigInt)
  return { xmin: BigInt(xmin), xmax: BigInt(xmax), running: new Set(list) }
}
