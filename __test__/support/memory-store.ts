import type { ObjectStore, Repeating } from '../../ts/replication/index.js'

/** Defects of the in-memory object store. */
export interface Weakness {
  /** A create checks if the key exists, and writes a moment later. */
  readonly createsLate?: boolean
  /** A create overwrites, but reports that it did not. */
  readonly overwrites?: boolean
  /** Every create succeeds. */
  readonly createsAlways?: boolean
  /** A list omits the newest object. */
  readonly listsLate?: boolean
  /** A get does not return a new object yet. */
  readonly givesLate?: boolean
}

export function memoryStore(
  weakness: Weakness = {},
): ObjectStore & { readonly objects: Map<string, Buffer> } {
  const objects = new Map<string, Buffer>()
  let last = ''
  const set = (key: string, body: Uint8Array) => {
    objects.set(key, Buffer.from(body))
    last = key
  }
  return {
    name: 'a store in memory',
    objects,
    async create(key, body) {
      const isTaken = objects.has(key)
      if (weakness.createsLate) await new Promise((resolve) => setImmediate(resolve))
      if (!isTaken || weakness.overwrites || weakness.createsAlways) set(key, body)
      return isTaken && !weakness.createsAlways ? 'exists' : 'created'
    },
    async put(key, body) {
      set(key, body)
    },
    async get(key, { range }) {
      const found = objects.get(key)
      if (found === undefined || weakness.givesLate) return null
      return range === undefined ? found : found.subarray(range[0], range[1] + 1)
    },
    async *list(prefix, { after = '' } = {}) {
      const keys = [...objects.keys()].filter((key) => key.startsWith(prefix) && key > after).sort()
      for (const key of keys) {
        if (weakness.listsLate && objects.size > 0 && key.startsWith(last.slice(0, -1))) continue
        yield { key, bytes: objects.get(key)?.length ?? 0 }
      }
    },
    async delete(key) {
      objects.delete(key)
    },
  }
}

/** Retry policy without retries: a failed call fails with its error. */
export const noRepeating: Repeating = {
  wait: async () => undefined,
  onRetry(error) {
    throw error
  },
}

/** A signal that is never aborted. */
export const never: AbortSignal = new AbortController().signal
