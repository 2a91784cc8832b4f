import { randomBytes } from 'node:crypto'
import { PROBE_BYTES, PROBE_CREATES, PROBE_ROUNDS } from './limits.js'
import { BucketError, type ObjectStore } from './object-store.js'
import { type Repeating, repeated, repeatingStore } from './repeating.js'

/** What a store lacks that the log in it needs. */
export class UnfitStoreError extends Error {
  override readonly name = 'UnfitStoreError'
}

/**
 * Establishes that creates are atomic: in each round many create one key at once and exactly one succeeds, what is there
 * is not replaced, and what was written is read and listed at once. Leaves nothing behind, unless a call fails.
 *
 * A store that checks and then writes passes a single round by luck, hence several.
 * @param repeating how calls are repeated whose outcome says nothing
 * @throws UnfitStoreError that says what is missing
 * @throws BucketError if the store cannot be used at all
 */
export async function probe(given: ObjectStore, repeating: Repeating, signal: AbortSignal): Promise<void> {
  const store = { ...given, ...repeatingStore(given, repeating) }
  const folder = `probe/${randomBytes(8).toString('hex')}/`
  const made = new Set<string>()
  try {
    for (let round = 0; round < PROBE_ROUNDS; round++) {
      const key = `${folder}${round}`
      made.add(key)
      await createAtOnce(store, key, signal)
    }
    const first = `${folder}0`
    if (!(await repeated(repeating, signal, () => isListed(store, first, signal))))
      throw new UnfitStoreError(`${store.name} does not list an object right after it was created`)
    const other = Buffer.from('another object')
    if ((await repeated(repeating, signal, () => store.create(first, other, signal))) !== 'exists')
      throw new UnfitStoreError(`${store.name} creates an object whose key is taken`)
    if ((await store.get(first, { bytesMax: PROBE_BYTES, signal }))?.equals(other))
      throw new UnfitStoreError(
        `${store.name} refuses to create an object whose key is taken, and replaces it`,
      )
  } finally {
    for (const key of made) await store.delete(key, signal).catch(() => undefined)
  }
}

/** Many create one key at once, each with bytes of its own. */
async function createAtOnce(store: ObjectStore, key: string, signal: AbortSignal): Promise<void> {
  const bodies = Array.from({ length: PROBE_CREATES }, (_, i) => Buffer.alloc(PROBE_BYTES, `${i} `))
  // Connections that are open already let the creates arrive together.
  await Promise.all(bodies.map(() => store.get(key, { bytesMax: PROBE_BYTES, signal })))
  const outcomes = await Promise.all(bodies.map((body) => createOnce(store, key, body, signal)))
  const winners = bodies.filter((_, i) => outcomes[i] === 'created')
  const found = await store.get(key, { bytesMax: PROBE_BYTES, signal })
  // A create without a clear answer may be the one that succeeded.
  const mayHaveWon = outcomes.includes('unclear') && winners.length === 0
  if (winners.length !== 1 && !mayHaveWon)
    throw new UnfitStoreError(
      `${store.name} has no atomic create: of ${PROBE_CREATES} creates of one key at once, ${winners.length} succeeded. ` +
        'Two servers could each believe that they are the one that writes',
    )
  if (found === null)
    throw new UnfitStoreError(`${store.name} does not give an object right after it was created`)
  if (winners[0] !== undefined && !winners[0].equals(found))
    throw new UnfitStoreError(`${store.name} gives another object than the one whose create succeeded`)
}

async function createOnce(
  store: ObjectStore,
  key: string,
  body: Uint8Array,
  signal: AbortSignal,
): Promise<'created' | 'exists' | 'unclear'> {
  try {
    return await store.create(key, body, signal)
  } catch (error) {
    if (error instanceof BucketError && error.isUnknown) return 'unclear'
    throw error
  }
}

async function isListed(store: ObjectStore, key: string, signal: AbortSignal): Promise<boolean> {
  for await (const object of store.list(key, { signal })) if (object.key === key) return true
  return false
}
