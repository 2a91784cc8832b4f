import type { Answer, BareEngine, StopSignal } from '../../engine.js'
import type { IndexId } from '../../index-id.js'
import { Batches } from './batches.js'
import { type EngineWorker, ThreadEndedError } from './engine-worker.js'
import type { Call } from './protocol.js'
import type { SearchThreads } from './search-threads.js'
import { flagged } from './stop-flag.js'

/** The calls of an engine in threads. @param worker the thread that writes the indexes */
export function engineOf(worker: EngineWorker, searches: SearchThreads): BareEngine {
  const batches = new Batches(worker)
  const forward =
    <C extends Call & keyof BareEngine>(call: C) =>
    (...args: Parameters<BareEngine[C]>): ReturnType<BareEngine[C]> =>
      // The worker implements the same interface, so its answer has the type of the call.
      worker.call(call, args) as ReturnType<BareEngine[C]>
  const searching =
    <C extends 'search' | 'explain' | 'facetSearch' | 'similar' | 'documents'>(call: C) =>
    (
      index: IndexId,
      request: Uint8Array,
      stop?: StopSignal,
      foreign: readonly IndexId[] = [],
    ): ReturnType<BareEngine[C]> =>
      flagged(stop, (flag) =>
        searches.run(call, [index, ...foreign], [index, request, ...flag]),
      ) as ReturnType<BareEngine[C]>
  return {
    kind: 'fallback',
    inspect: forward('inspect'),
    checkFilter: forward('checkFilter'),
    prepare: (index, batch, stop) => batches.prepare(index, batch, stop),
    work: (prepared, from) => batches.work(prepared, from),
    commit: (prepared, vectors) => searches.changing(prepared.index, () => batches.commit(prepared, vectors)),
    progress: forward('progress'),
    abandon: (prepared) => batches.abandon(prepared),
    undo: (index, batchUids) =>
      searches.changing(index, () => worker.call('undo', [index, batchUids]) as Promise<void>),
    lastCommit: forward('lastCommit'),
    settings: forward('settings'),
    settingsCost: forward('settingsCost'),
    search: searching('search'),
    explain: searching('explain'),
    multiSearch(requests, federation, stop) {
      const indexes = requests.flatMap(({ index, foreign = [] }) => [index, ...foreign])
      return flagged(stop, (flag) =>
        searches.run('multiSearch', [...new Set(indexes)], [requests, federation, ...flag]),
      ) as Promise<Answer>
    },
    facetSearch: searching('facetSearch'),
    similar: searching('similar'),
    documents: searching('documents'),
    document: (index, request) =>
      searches.run('document', [index], [index, request]) as Promise<Uint8Array | null>,
    analysis: forward('analysis'),
    stats: forward('stats'),
    sizes: forward('sizes'),
    fields: forward('fields'),
    pin: forward('pin'),
    pinnedSettings: forward('pinnedSettings'),
    pinnedDocuments: forward('pinnedDocuments'),
    snapshot: forward('snapshot'),
    unpin: forward('unpin'),
    compact: (index, stop) =>
      flagged(stop, (flag) => worker.call('compact', [index, ...flag])) as Promise<void>,
    newestCommitFile: forward('newestCommitFile'),
    verify: forward('verify'),
    rescue: forward('rescue'),
    adopt: (index) =>
      searches.changing(index, async () => {
        try {
          await worker.call('adopt', [index])
        } catch (error) {
          if (!(error instanceof ThreadEndedError)) throw error
          // The new thread opens the newest commit when the index is used.
          await worker.call('adopt', [index])
        }
      }),
    drop: (index) => searches.removing(index, () => worker.call('drop', [index]) as Promise<void>),
    list: forward('list'),
    cacheFigures: () => searches.cacheFigures(),
    close: () => searches.close(),
  }
}
