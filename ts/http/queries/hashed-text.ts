import { createHash } from 'node:crypto'

/** Hexadecimal digits of a hash. Among a million queries, two share a hash with a probability of one in ten million. */
const HASH_DIGITS = 16

/** Returns the hash that stands for a query or a filter. Case and outer blanks do not change it. */
export const hashedText = (text: string): string =>
  createHash('sha256').update(text.trim().toLowerCase()).digest('hex').slice(0, HASH_DIGITS)
