import { createHash } from 'node:crypto'

/**
 * Returns the place of a candidate in the order in which candidates stand, from 0. Rendezvous hashing: every candidate
 * computes the same order from the same announcements, and each epoch has another one.
 * @param epoch of the leader that does not answer
 */
export function rankOf(self: string, others: readonly string[], epoch: number): number {
  const score = (id: string): string => createHash('sha256').update(`${epoch} ${id}`).digest('hex')
  return others.filter((id) => id !== self && score(id) > score(self)).length
}
