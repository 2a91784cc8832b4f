import { createHash } from 'node:crypto'
import type { Announcement } from './announcements.js'

type Ranked = Pick<Announcement, 'id' | 'format'>

/**
 * Returns the place of a candidate in the order in which candidates stand, from 0. Candidates of an older version come
 * first: all others can follow them. Among equal ones, rendezvous hashing: every candidate computes the same order from
 * the same announcements, and each epoch has another one.
 * @param epoch of the leader that does not answer
 */
export function rankOf(self: Ranked, others: readonly Ranked[], epoch: number): number {
  const score = (id: string): string => createHash('sha256').update(`${epoch} ${id}`).digest('hex')
  const isBefore = ({ id, format = 1 }: Ranked): boolean => {
    const newer = format - (self.format ?? 1)
    return newer < 0 || (newer === 0 && score(id) > score(self.id))
  }
  return others.filter((other) => other.id !== self.id && isBefore(other)).length
}
