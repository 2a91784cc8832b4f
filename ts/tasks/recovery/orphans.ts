/** Removes or quarantines directories and uploads that the task store does not name. */
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { BatchReport, Engine, IndexId } from '../../engine/index.js'
import { makeDirectory } from '../../engine/index.js'
import type { TaskLog } from '../execute/batch-context.js'
import type { Spool } from '../spool.js'
import { indexPath, lostPath } from '../store/paths.js'
import type { Start } from '../store/records.js'
import type { StoreClient } from '../store/store-client.js'
import { unrecordedIn } from './expected-commits.js'

/** Moves directories and files that must not be deleted to the quarantine, and returns their new paths. */
export interface Quarantine {
  /** @param id names the directory of an index that is not open */
  index(id: IndexId): Promise<string>
  /** @param path of a file */
  file(path: string): Promise<string>
}

/** Uses `lost/` in a data directory as the quarantine. */
export function quarantineIn(directory: string): Quarantine {
  const moved = async (from: string, name: string): Promise<string> => {
    const target = join(lostPath(directory), name)
    await makeDirectory(lostPath(directory))
    await rename(from, target)
    return target
  }
  return {
    index: (id) => moved(indexPath(directory, id), `${id}-${stampOf(new Date())}`),
    file: (path) => moved(path, `${stampOf(new Date())}-${path.split(/[\\/]/).at(-1)}`),
  }
}

/** Formats a date as part of a file name: `20261123T214510123`. */
export const stampOf = (date: Date): string => date.toISOString().replace(/[-:.Z]/g, '')

interface OrphanContext {
  readonly engine: Engine
  readonly store: StoreClient
  readonly spool: Spool
  readonly log: TaskLog
  readonly quarantine: Quarantine
}

/**
 * Removes announced directories that never became an index, directories of dropped indexes, and uploads without a task.
 * Any other directory missing in the catalogue is moved to the quarantine.
 *
 * If the store could not be checked, all directories and uploads that it does not name are moved to the quarantine.
 */
export async function clearOrphans(start: Start, context: OrphanContext): Promise<void> {
  const { engine, store, spool, log, quarantine } = context
  const isComplete = store.uncheckedReason === null
  const named = new Set(start.catalogue.map(({ id }) => id))
  const disposable = new Set(isComplete ? start.disposable : [])
  /** Logs a failure. The next start finds the same orphan again. */
  const attempted = (facts: object, work: () => Promise<void>): Promise<void> =>
    work().catch((error: unknown) => log.warn({ ...facts, err: error }, 'an orphan could not be removed'))

  const unnamed = (await engine.list()).filter((id) => !named.has(id))
  for (const id of unnamed) {
    await attempted({ id }, async () => {
      if (disposable.has(id) || (isComplete && (await isUnfinished(id, start, context)))) {
        log.info({ id }, 'removing the files of an interrupted index creation')
        await engine.drop(id)
        return
      }
      const path = await quarantine.index(id)
      log.warn(
        { id, path },
        'an index directory that no index refers to was moved; delete it if you do not need it',
      )
    })
  }
  if (isComplete && start.disposable.length > 0) {
    const left = new Set(await engine.list())
    await store.call('removed', [start.disposable.filter((id) => named.has(id) || !left.has(id))])
  }
  const uploads = new Set((await store.call('uploads', [])).map(({ name }) => name))
  await attempted({}, async () => {
    if (isComplete) {
      const orphans = await spool.removeOrphans(uploads)
      if (orphans > 0) log.info({ orphans }, 'removed uploads that no task refers to')
      return
    }
    for (const name of await spool.orphans(uploads)) {
      const path = await quarantine.file(spool.pathOf(name))
      log.warn({ path }, 'an upload that no task refers to was moved; delete it if you do not need it')
    }
  })
}

/**
 * Returns true if a directory only has a commit whose outcome was never recorded. Its tasks still wait, so the commit
 * will be repeated. A power cut may have lost the announcement of the directory.
 */
async function isUnfinished(
  id: IndexId,
  start: Start,
  { engine, store, log }: OrphanContext,
): Promise<boolean> {
  let report: BatchReport | null
  try {
    report = await engine.lastCommit(id)
  } catch (error) {
    log.warn({ err: error, id }, 'an index directory that no index refers to cannot be read')
    return false
  }
  if (report === null || !unrecordedIn(start)(report.batchUid)) return false
  const uids = [...new Set(report.outcomes.map(({ taskUid }) => taskUid))]
  return uids.length > 0 && (await store.call('pending', [uids])).length === uids.length
}
