/** Freezes the state of the instance, so that it can be copied while writes continue. */
import type { Engine, IndexId, Pin } from '../../engine/index.js'
import type { Rule } from '../rules/index.js'
import type { CopyPurpose } from '../store/records.js'
import type { IndexEntry } from '../tasks.js'
import type { BatchContext, Run } from './batch-context.js'

/** A pinned index. */
interface FrozenIndex {
  readonly entry: IndexEntry
  readonly pin: Pin
}

/** The frozen state. */
interface Frozen {
  /** Ascending by uid, without damaged indexes. */
  readonly indexes: readonly FrozenIndex[]
  readonly rules: readonly Rule[]
  /** Paths of the waiting uploads. They are kept until `release`. */
  readonly uploads: readonly string[]
  /** Releases everything. */
  release(): Promise<void>
}

/** Reports an index that is left out. @param damage the reason */
export type LeaveOut = (index: IndexEntry, damage: string) => void

/**
 * Freezes the instance between two commits and copies the task store. Batches wait only while this runs.
 * @param copy target path, which must not exist; its purpose; running tasks to omit
 */
export function frozen(
  copy: { readonly path: string; readonly purpose: CopyPurpose; readonly omitted: readonly number[] },
  run: Run,
  { engine, store, spool, catalogue, rules }: BatchContext,
  leaveOut: LeaveOut,
): Promise<Frozen> {
  return run.holdCommits(null, async () => {
    await store.copyTo(copy.path, copy.purpose, copy.omitted)
    const uploads = (await store.call('uploads', [])).map(({ name }) => name)
    const free = spool.hold(uploads)
    const indexes: FrozenIndex[] = []
    const release = async () => {
      try {
        await free()
      } finally {
        for (const { pin } of indexes) await engine.unpin(pin)
      }
    }
    try {
      for (const entry of catalogue.entries()) {
        const pin = await pinned(engine, entry, leaveOut)
        if (pin !== null) indexes.push({ entry, pin })
      }
    } catch (error) {
      await release()
      throw error
    }
    return { indexes, rules: rules.book().all, uploads: uploads.map((name) => spool.pathOf(name)), release }
  })
}

async function pinned(engine: Engine, entry: IndexEntry, leaveOut: LeaveOut): Promise<Pin | null> {
  return unlessDamaged(engine, entry, leaveOut, (id) => engine.pin(id))
}

/** Runs `work`. If the index is damaged, returns null and leaves the index out. */
export async function unlessDamaged<T>(
  engine: Pick<Engine, 'damage'>,
  entry: IndexEntry,
  leaveOut: LeaveOut,
  work: (id: IndexId) => Promise<T>,
): Promise<T | null> {
  try {
    return await work(entry.id)
  } catch (error) {
    const damage = engine.damage(entry.id)
    if (damage === null) throw error
    leaveOut(entry, damage)
    return null
  }
}
