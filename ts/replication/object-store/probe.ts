import { randomBytes } from 'node:crypto'
import { PROBE_BYTES, PROBE_CREATES, PROBE_ROUNDS } from './limits.js'
import { BucketError, type ObjectStore } from './object-store.js'
import { type Repeating, repeated, repeatingStore } from './repeating.js'

/** The store lacks a property that the log needs. The message names it. */
export class UnfitStoreError extends Error {
  override readonly name = 'UnfitStoreError'
}

/**
 * Checks that a store creates objects atomically. In each round many calls create one key and exactly one must succeed.
 * An existing object must not be replaced. A written object must be readable and listed at once. Removes its objects,
 * unless a delete fails.
 *
 * A store that checks for existence and then writes may pass a single round by chance, hence several rounds.
 * @param repeating retry policy for calls with an unknown outcome
 * @throws UnfitStoreError if a property is missing
 * @throws BucketError if the store cannot be used at all
 */
export async function probe(given: ObjectStore, repeating: Repeating, signal: AbortSignal): Promise<void> {
  const store = { ...given, ...repeatingStore(given, repeating) }
  const folder = `probe/${randomBytes(8).toString('hex')}/`
  const made = new Set<string>()
  try {
    await openConnections(store, folder, signal)
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
    await Promise.all([...made].map((key) => store.delete(key, signal).catch(() => undefined)))
  }
}

/** Opens connections, so that the creates arrive at the same time. */
async function openConnections(
  store: Pick<ObjectStore, 'get'>,
  folder: string,
  signal: AbortSignal,
): Promise<void> {
  const key = `${folder}0`
  const calls = Array.from({ length: PROBE_CREATES }, () => store.get(key, { bytesMax: PROBE_BYTES, signal }))
  await Promise.all(calls)
}

/** Creates one key with many concurrent calls, each with different bytes. */
async function createAtOnce(store: ObjectStore, key: string, signal: AbortSignal): Promise<void> {
  const bodies = Array.from({ length: PROBE_CREATES }, (_, i) => Buffer.alloc(PROBE_BYTES, `${i} `))
  const outcomes = await Promise.all(bodies.map((body) => createOnce(store, key, body, signal)))
  const winners = bodies.filter((_, i) => outcomes[i] === 'created')
  const found = await store.get(key, { bytesMax: PROBE_BYTES, signal })
  // A create with an unknown outcome may be the one that succeeded.
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
