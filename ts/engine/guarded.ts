/** Here is an index: can what it answers be trusted? Damaged ones are remembered, and refused until they are dropped. */
import { type IndexSettings, parsedSettings } from '../settings/index.js'
import type { BareEngine, Damage, Engine, IndexId, Prepared, StopSignal } from './engine.js'
import { EngineError } from './engine-error.js'

interface GuardLog {
  error(facts: object, message: string): void
}

/** Failures of the system, which say nothing about what the files hold. */
const SYSTEM_FAULT = /ENOSPC|EDQUOT|EIO|EMFILE|ENFILE|ENOMEM|os error (5|12|23|24|28|122)\b/

/** Number of removed indexes that are remembered. */
const MAX_DROPPED = 1_000

/**
 * The same engine, which uses no index that is known to be damaged.
 *
 * 1. An index that does not open, or that the caller condemned, is refused with `index_damaged` from then on. Only
 *    `drop` still takes it, and what asks for no content.
 * 2. An index of which something is expected is compared with that before its first use. Rule 1 holds if it falls short.
 * 3. After a fault that nothing explains, all files of the index are read once: if one does not decode, rule 1 holds.
 * 4. Once other files were adopted, nothing is known of the index and nothing expected.
 * 5. An index is removed when the calls that it is asked in have ended. What asks for it later is `index_not_found`.
 *
 * @param followsFiles as in `EngineSetup`
 */
export function guarding(engine: BareEngine, log: GuardLog, followsFiles = false): Engine {
  const damaged = new Map<IndexId, string>()
  /** Indexes whose files were read after a fault, and found to be whole; a commit makes new files. */
  const examined = new Set<IndexId>()
  /** Indexes whose batch was abandoned or stopped: a failure of it has its reason. */
  const abandoned = new Set<IndexId>()
  /** What is expected of indexes that were not used yet. */
  const expected = new Map<IndexId, Parameters<Engine['expect']>[1]>()
  /** Commits that this process made or adopted. */
  let commits = 0
  /** The newest of those commits, for indexes that had any. */
  const revisions = new Map<IndexId, number>()
  /** The setting of that name, with the revision that it was read at. */
  const foreignKeys = new Map<
    IndexId,
    { readonly revision: number; readonly keys: IndexSettings['foreignKeys'] }
  >()
  /** Calls under way, which the removal of an index waits for. */
  const underWay = new Map<IndexId, Set<Promise<unknown>>>()
  /** The indexes that were removed last: a call that looked one up before it was removed may still come. */
  const dropped = new Set<IndexId>()
  /** Comparisons under way. */
  const comparing = new Map<IndexId, Promise<void>>()
  let isClosed = false

  const revision = (index: IndexId): number => revisions.get(index) ?? 0

  function condemn(index: IndexId, damage: string): void {
    if (damaged.has(index)) return
    damaged.set(index, damage)
    log.error({ index, damage }, 'an index is damaged: it is refused until it is restored or deleted')
  }

  function refuse(index: IndexId): void {
    const damage = damaged.get(index)
    if (damage !== undefined) throw damageError(damage)
  }

  /** Compares the newest commit of an index with what is expected, once. */
  function compare(index: IndexId): Promise<void> | null {
    const lacks = expected.get(index)
    if (lacks === undefined) return null
    const running = comparing.get(index)
    if (running !== undefined) return running
    const comparison = engine
      .lastCommit(index)
      .then((report) => {
        if (expected.get(index) !== lacks) return
        expected.delete(index)
        const damage = lacks(report)
        if (damage !== null) condemn(index, `the index directory ${index} is incomplete: ${damage}`)
      })
      .finally(() => comparing.delete(index))
    comparing.set(index, comparison)
    return comparison
  }

  /** Reads all files of an index to find out whether they are the reason of `fault`. */
  async function examine(index: IndexId, fault: Error): Promise<void> {
    if (isClosed || examined.has(index) || abandoned.has(index) || SYSTEM_FAULT.test(fault.message)) return
    examined.add(index)
    const damages = await engine.verify(index).catch(() => [])
    const found = damages.find(({ isHarmless, reason }) => isHarmless !== true && !SYSTEM_FAULT.test(reason))
    if (found !== undefined) condemn(index, damageText(found))
  }

  /** Opens an index to find out whether it is damaged. */
  async function open(index: IndexId): Promise<void> {
    try {
      await engine.settings(index)
    } catch (error) {
      if (error instanceof EngineError && error.code === 'index_damaged') condemn(index, error.message)
    }
  }

  /** @param stop of the work: what fails after it was given up says nothing about the index */
  function guarded<T>(indexes: readonly IndexId[], work: () => Promise<T>, stop?: StopSignal): Promise<T> {
    if (indexes.some((index) => dropped.has(index)))
      return Promise.reject(new EngineError('index_not_found', 'the index was deleted while it was asked'))
    const call = answered(indexes, work, stop)
    for (const index of indexes) {
      const calls = underWay.get(index) ?? new Set()
      underWay.set(index, calls.add(call))
      const ended = () => {
        calls.delete(call)
        if (calls.size === 0 && underWay.get(index) === calls) underWay.delete(index)
      }
      call.then(ended, ended)
    }
    return call
  }

  /** As `guarded`, of a commit that is held: it is there though the index was removed. */
  async function answered<T>(
    indexes: readonly IndexId[],
    work: () => Promise<T>,
    stop?: StopSignal,
  ): Promise<T> {
    for (const index of indexes) refuse(index)
    try {
      for (const index of indexes) {
        const comparison = compare(index)
        if (comparison === null) continue
        await comparison
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

  const isNotWriter = () => Promise.reject(new Error('an engine that follows files writes none'))
  const isWriter = () => Promise.reject(new Error('an engine that writes files adopts none'))

  const guardedEngine: Engine = {
    kind: engine.kind,
    damage: (index) => damaged.get(index) ?? null,
    condemn,
    expect: (index, lacks) => void expected.set(index, lacks),
    revision,
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
      guarded([index, ...foreign], () => engine.search(index, request, stop), stop),
    explain: (index, request, stop, foreign = []) =>
      guarded([index, ...foreign], () => engine.explain(index, request, stop), stop),
    multiSearch: (requests, federation, stop) =>
      guarded(
        requests.flatMap(({ index, foreign = [] }) => [index, ...foreign]),
        () => engine.multiSearch(requests, federation, stop),
        stop,
      ),
    facetSearch: (index, request, stop, foreign = []) =>
      guarded([index, ...foreign], () => engine.facetSearch(index, request, stop), stop),
    similar: (index, request, stop, foreign = []) =>
      guarded([index, ...foreign], () => engine.similar(index, request, stop), stop),
    documents: (index, request, stop, foreign = []) =>
      guarded([index, ...foreign], () => engine.documents(index, request, stop), stop),
    document: (index, request) => guarded([index], () => engine.document(index, request)),
    stats: (index) => guarded([index], () => engine.stats(index)),
    sizes: (index) => guarded([index], () => engine.sizes(index)),
    fields: (index) => guarded([index], () => engine.fields(index)),
    pin: (index, listing) => guarded([index], () => engine.pin(index, listing)),
    pinnedSettings: (pin) => answered([pin.index], () => engine.pinnedSettings(pin)),
    pinnedDocuments: (pin, request) => answered([pin.index], () => engine.pinnedDocuments(pin, request)),
    snapshot: (pin, directory) => answered([pin.index], () => engine.snapshot(pin, directory)),
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
        expected.delete(index)
        examined.delete(index)
      } finally {
        revisions.set(index, ++commits)
      }
    },
    async drop(index) {
      // A search that waits for a thread has not opened its commit yet.
      await Promise.allSettled(underWay.get(index) ?? [])
      await engine.drop(index)
      dropped.add(index)
      for (const oldest of dropped) {
        if (dropped.size <= MAX_DROPPED) break
        dropped.delete(oldest)
      }
      damaged.delete(index)
      expected.delete(index)
      examined.delete(index)
      abandoned.delete(index)
      revisions.delete(index)
      foreignKeys.delete(index)
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

/** The file that is damaged, and how. */
function damageText({ path, reason }: Damage): string {
  return reason.includes(path) ? reason : `${path} is damaged: ${reason}`
}

/** The error that answers each use of a damaged index. @param damage names the file */
function damageError(damage: string): EngineError {
  return new EngineError(
    'index_damaged',
    `the index is damaged (${damage}): stop the server and run \`siftd repair\`, or restore its data directory, or import a dump, or delete the index and add its documents again`,
  )
}
