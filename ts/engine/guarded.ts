/** Remembers damaged indexes and refuses them until they are dropped. */
import { type IndexSettings, parsedSettings } from '../settings/index.js'
import type { Prepared } from './batches.js'
import type { BareEngine, Damage, Engine, StopSignal } from './engine.js'
import { EngineError } from './engine-error.js'
import type { IndexId } from './index-id.js'

interface GuardLog {
  error(facts: object, message: string): void
}

/** System failures, which prove nothing about the contents of files. */
const SYSTEM_FAULT = /ENOSPC|EDQUOT|EIO|EMFILE|ENFILE|ENOMEM|os error (5|12|23|24|28|122)\b/

/** Number of dropped indexes that are remembered. */
const MAX_DROPPED = 1_000

/**
 * Wraps an engine so that no index with known damage is used.
 *
 * 1. An index that does not open, or was condemned by the caller, is refused with `index_damaged` from then on. Only
 *    `drop` and calls that read no content still accept it.
 * 2. An index with a registered check (`expect`) is checked before its first use. If the check fails, rule 1 applies.
 * 3. After a fault without a known reason, all files of the index are read once. If a file does not decode, rule 1
 *    applies.
 * 4. After other files are adopted, all knowledge about the index is reset, and its check is removed.
 * 5. An index is dropped once its running calls have ended. Later calls get `index_not_found`.
 *
 * @param followsFiles see `EngineSetup`
 */
export function guarding(engine: BareEngine, log: GuardLog, followsFiles = false): Engine {
  const damaged = new Map<IndexId, string>()
  /** Indexes with files found undamaged after a fault. Reset by a commit, which writes new files. */
  const examined = new Set<IndexId>()
  /** Indexes whose batch was abandoned or stopped: this explains a failure of the batch. */
  const abandoned = new Set<IndexId>()
  /** Registered checks of indexes that were not used yet. */
  const checks = new Map<IndexId, Parameters<Engine['expect']>[1]>()
  /** Number of commits that this process made or adopted. */
  let commits = 0
  /** Number of the newest commit of each index that had any. */
  const revisions = new Map<IndexId, number>()
  /** Cached `foreignKeys` settings, with the revision at which they were read. */
  const foreignKeys = new Map<
    IndexId,
    { readonly revision: number; readonly keys: IndexSettings['foreignKeys'] }
  >()
  /** Calls in progress. Dropping an index waits for them. */
  const inFlight = new Map<IndexId, Set<Promise<unknown>>>()
  /** Recently dropped indexes. A call that looked an index up before the drop may still arrive. */
  const dropped = new Set<IndexId>()
  /** Checks in progress. */
  const checking = new Map<IndexId, Promise<void>>()
  let isClosed = false
  const listeners: ((index: IndexId) => void)[] = []
  const changed = (index: IndexId): void => {
    for (const listener of listeners) listener(index)
  }

  const revision = (index: IndexId): number => revisions.get(index) ?? 0

  function condemn(index: IndexId, damage: string): void {
    if (damaged.has(index)) return
    damaged.set(index, damage)
    changed(index)
    log.error({ index, damage }, 'an index is damaged: it is refused until it is restored or deleted')
  }

  function refuse(index: IndexId): void {
    const damage = damaged.get(index)
    if (damage !== undefined) throw damageError(damage)
  }

  /** Runs the registered check of an index, once. */
  function runCheck(index: IndexId): Promise<void> | null {
    const check = checks.get(index)
    if (check === undefined) return null
    const earlier = checking.get(index)
    if (earlier !== undefined) return earlier
    const running = engine
      .lastCommit(index)
      .then((report) => {
        if (checks.get(index) !== check) return
        checks.delete(index)
        const damage = check(report)
        if (damage !== null) condemn(index, `the index directory ${index} is incomplete: ${damage}`)
        changed(index)
      })
      .finally(() => checking.delete(index))
    checking.set(index, running)
    return running
  }

  /** Reads all files of an index to find out if damage caused `fault`. */
  async function examine(index: IndexId, fault: Error): Promise<void> {
    if (isClosed || examined.has(index) || abandoned.has(index) || SYSTEM_FAULT.test(fault.message)) return
    examined.add(index)
    const damages = await engine.verify(index).catch(() => [])
    const found = damages.find(({ isHarmless, reason }) => isHarmless !== true && !SYSTEM_FAULT.test(reason))
    if (found !== undefined) condemn(index, damageText(found))
  }

  /** Opens an index to find out if it is damaged. */
  async function open(index: IndexId): Promise<void> {
    try {
      await engine.settings(index)
    } catch (error) {
      if (error instanceof EngineError && error.code === 'index_damaged') condemn(index, error.message)
    }
  }

  /** @param stop of the call: a failure after it was aborted proves nothing about the index */
  function guarded<T>(indexes: readonly IndexId[], work: () => Promise<T>, stop?: StopSignal): Promise<T> {
    if (indexes.some((index) => dropped.has(index)))
      return Promise.reject(new EngineError('index_not_found', 'the index was deleted during the call'))
    const call = refusingDamaged(indexes, work, stop)
    for (const index of indexes) {
      const calls = inFlight.get(index) ?? new Set()
      inFlight.set(index, calls.add(call))
      const ended = () => {
        calls.delete(call)
        if (calls.size === 0 && inFlight.get(index) === calls) inFlight.delete(index)
      }
      call.then(ended, ended)
    }
    return call
  }

  /** Like `guarded`, for a pinned commit: it is readable even if the index was dropped. */
  async function refusingDamaged<T>(
    indexes: readonly IndexId[],
    work: () => Promise<T>,
    stop?: StopSignal,
  ): Promise<T> {
    for (const index of indexes) refuse(index)
    try {
      for (const index of indexes) {
        const running = runCheck(index)
        if (running === null) continue
        await running
        refuse(index)
      }
      return await work()
    } catch (error) {
      if (error instanceof EngineError) {
        if (error.code !== 'index_damaged') throw error
        const [only] = indexes
        if (only !== undefined && indexes.length === 1) condemn(only, error.message)
        else for (const index of new Set(indexes)) await open(index)
      } else if (error instanceof Error && stop?.aborted !== true) {
        for (const index of new Set(indexes)) await examine(index, error)
      }
      for (const index of indexes) refuse(index)
      throw error
    }
  }

  const isNotWriter = () => Promise.reject(new Error('an engine that follows files cannot write'))
  const isWriter = () => Promise.reject(new Error('an engine that writes files cannot adopt commits'))

  const guardedEngine: Engine = {
    kind: engine.kind,
    damage: (index) => damaged.get(index) ?? null,
    condemn,
    expect(index, check) {
      checks.set(index, check)
      changed(index)
    },
    revision,
    isTrusted: (index) => !damaged.has(index) && !checks.has(index),
    onChange: (listener) => void listeners.push(listener),
    async foreignKeys(index) {
      const current = revision(index)
      const known = foreignKeys.get(index)
      if (known?.revision === current) return known.keys
      const { foreignKeys: keys } = parsedSettings(await guarded([index], () => engine.settings(index)))
      foreignKeys.set(index, { revision: current, keys })
      return keys
    },
    inspect: (payload) => engine.inspect(payload),
    checkFilter: (request) => engine.checkFilter(request),
    prepare(index, batch, stop) {
      dropped.delete(index)
      abandoned.delete(index)
      return guarded([index], () =>
        engine.prepare(index, batch, stop).catch((error: unknown) => {
          if (stop?.aborted) abandoned.add(index)
          throw error
        }),
      )
    },
    work: (prepared, from) => guarded([prepared.index], () => engine.work(prepared, from)),
    async commit(prepared, vectors) {
      try {
        const report = await guarded([prepared.index], () => engine.commit(prepared, vectors))
        examined.delete(prepared.index)
        return report
      } finally {
        revisions.set(prepared.index, ++commits)
        changed(prepared.index)
      }
    },
    progress: (index) => engine.progress(index),
    abandon(prepared: Prepared) {
      abandoned.add(prepared.index)
      return engine.abandon(prepared)
    },
    undo(index, batchUids) {
      foreignKeys.delete(index)
      return guarded([index], () => engine.undo(index, batchUids))
    },
    lastCommit: (index) =>
      dropped.has(index) ? Promise.resolve(null) : guarded([index], () => engine.lastCommit(index)),
    settings: (index) => guarded([index], () => engine.settings(index)),
    settingsCost: (index, settings) => guarded([index], () => engine.settingsCost(index, settings)),
    search: (index, request, stop, foreign = []) =>
      guarded([index, ...foreign], () => engine.search(index, request, stop, foreign), stop),
    explain: (index, request, stop, foreign = []) =>
      guarded([index, ...foreign], () => engine.explain(index, request, stop, foreign), stop),
    multiSearch: (requests, federation, stop) =>
      guarded(
        requests.flatMap(({ index, foreign = [] }) => [index, ...foreign]),
        () => engine.multiSearch(requests, federation, stop),
        stop,
      ),
    facetSearch: (index, request, stop, foreign = []) =>
      guarded([index, ...foreign], () => engine.facetSearch(index, request, stop, foreign), stop),
    similar: (index, request, stop, foreign = []) =>
      guarded([index, ...foreign], () => engine.similar(index, request, stop, foreign), stop),
    documents: (index, request, stop, foreign = []) =>
      guarded([index, ...foreign], () => engine.documents(index, request, stop, foreign), stop),
    document: (index, request) => guarded([index], () => engine.document(index, request)),
    analysis: (index) => guarded([index], () => engine.analysis(index)),
    stats: (index) => guarded([index], () => engine.stats(index)),
    sizes: (index) => guarded([index], () => engine.sizes(index)),
    fields: (index) => guarded([index], () => engine.fields(index)),
    pin: (index, listing) => guarded([index], () => engine.pin(index, listing)),
    pinnedSettings: (pin) => refusingDamaged([pin.index], () => engine.pinnedSettings(pin)),
    pinnedDocuments: (pin, request) =>
      refusingDamaged([pin.index], () => engine.pinnedDocuments(pin, request)),
    snapshot: (pin, directory) => refusingDamaged([pin.index], () => engine.snapshot(pin, directory)),
    unpin: (pin) => engine.unpin(pin),
    compact: (index, stop) => guarded([index], () => engine.compact(index, stop)),
    newestCommitFile: (index) => engine.newestCommitFile(index),
    verify: (index) => engine.verify(index),
    rescue: (index, path) => engine.rescue(index, path),
    async adopt(index) {
      try {
        await engine.adopt(index)
        dropped.delete(index)
        damaged.delete(index)
        checks.delete(index)
        examined.delete(index)
      } finally {
        revisions.set(index, ++commits)
        changed(index)
      }
    },
    async drop(index) {
      // A search that waits for a thread has not opened its commit yet.
      await Promise.allSettled(inFlight.get(index) ?? [])
      await engine.drop(index)
      dropped.add(index)
      for (const oldest of dropped) {
        if (dropped.size <= MAX_DROPPED) break
        dropped.delete(oldest)
      }
      damaged.delete(index)
      checks.delete(index)
      examined.delete(index)
      abandoned.delete(index)
      revisions.delete(index)
      foreignKeys.delete(index)
      changed(index)
    },
    list: () => engine.list(),
    cacheFigures: () => engine.cacheFigures(),
    close() {
      isClosed = true
      return engine.close()
    },
  }
  return followsFiles
    ? { ...guardedEngine, prepare: isNotWriter, commit: isNotWriter, undo: isNotWriter, compact: isNotWriter }
    : { ...guardedEngine, adopt: isWriter }
}

/** Describes the damaged file. */
function damageText({ path, reason }: Damage): string {
  return reason.includes(path) ? reason : `${path} is damaged: ${reason}`
}

/** The error for every use of a damaged index. @param damage names the file */
function damageError(damage: string): EngineError {
  return new EngineError(
    'index_damaged',
    `the index is damaged (${damage}): stop the server and run \`siftd repair\`, or restore its data directory, or import a dump, or delete the index and add its documents again`,
  )
}
