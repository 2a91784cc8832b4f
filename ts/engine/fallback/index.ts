/** The engine in pure TypeScript: same answers as the native engine, but slower, with the rules in readable code. */
import { BackgroundFaults } from '../background-faults.js'
import type { BareEngine, Engine, StopSignal } from '../engine.js'
import { guarding } from '../guarded.js'
import type { FallbackOptions } from './engine.js'
import { Batches } from './worker/batches.js'
import { EngineWorker, type FallbackLog, ThreadEndedError } from './worker/engine-worker.js'
import type { Call } from './worker/protocol.js'
import { flagged } from './worker/stop-flag.js'

/** Calls whose last argument may be a stop signal. */
type StoppableCall =
  | 'search'
  | 'explain'
  | 'multiSearch'
  | 'facetSearch'
  | 'similar'
  | 'documents'
  | 'compact'

const isStopSignal = (value: unknown): value is StopSignal =>
  typeof value === 'object' && value !== null && 'addEventListener' in value

/** Opens the engine for all indexes below `directory`, which is created if missing. */
export function openFallback({
  directory,
  cacheBytes,
  followsFiles = false,
  dictionaries,
  log,
  faults = new BackgroundFaults(log),
}: FallbackOptions & {
  readonly log: FallbackLog
  readonly faults?: BackgroundFaults | undefined
}): Promise<Engine> {
  const worker = new EngineWorker({ directory, cacheBytes, followsFiles, dictionaries }, log, faults)
  const batches = new Batches(worker)
  const forward =
    <C extends Call>(call: C) =>
    (...args: Parameters<BareEngine[C]>): ReturnType<BareEngine[C]> =>
      // The worker implements the same interface, so its answer has the type of the call.
      worker.call(call, args) as ReturnType<BareEngine[C]>
  const stoppable =
    <C extends StoppableCall>(call: C) =>
    (...args: Parameters<BareEngine[C]>): ReturnType<BareEngine[C]> => {
      const stop: unknown = args.at(-1)
      const found = isStopSignal(stop)
        ? flagged(stop, (flag) => worker.call(call, [...args.slice(0, -1), ...flag]))
        : worker.call(call, args)
      return found as ReturnType<BareEngine[C]>
    }
  const bare: BareEngine = {
    kind: 'fallback',
    inspect: forward('inspect'),
    checkFilter: forward('checkFilter'),
    prepare: (index, batch, stop) => batches.prepare(index, batch, stop),
    work: (prepared, from) => batches.work(prepared, from),
    commit: (prepared, vectors) => batches.commit(prepared, vectors),
    progress: forward('progress'),
    abandon: (prepared) => batches.abandon(prepared),
    undo: forward('undo'),
    lastCommit: forward('lastCommit'),
    settings: forward('settings'),
    settingsCost: forward('settingsCost'),
    search: stoppable('search'),
    explain: stoppable('explain'),
    multiSearch: stoppable('multiSearch'),
    facetSearch: stoppable('facetSearch'),
    similar: stoppable('similar'),
    documents: stoppable('documents'),
    document: forward('document'),
    analysis: forward('analysis'),
    stats: forward('stats'),
    sizes: forward('sizes'),
    fields: forward('fields'),
    pin: forward('pin'),
    pinnedSettings: forward('pinnedSettings'),
    pinnedDocuments: forward('pinnedDocuments'),
    snapshot: forward('snapshot'),
    unpin: forward('unpin'),
    compact: stoppable('compact'),
    newestCommitFile: forward('newestCommitFile'),
    verify: forward('verify'),
    rescue: forward('rescue'),
    adopt: async (index) => {
      try {
        await worker.call('adopt', [index])
      } catch (error) {
        if (!(error instanceof ThreadEndedError)) throw error
        // The new thread opens the newest commit when the index is used.
        await worker.call('adopt', [index])
      }
    },
    drop: forward('drop'),
    list: forward('list'),
    cacheFigures: forward('cacheFigures'),
    close: () => worker.close(),
  }
  return Promise.resolve(guarding(bare, log, followsFiles))
}
