/** Embeds texts, and scores documents, with models that run in this process. */
import { isAbsolute } from 'node:path'
import { LRUCache } from 'lru-cache'
import { linkedSignal } from '../../outbound/index.js'
import { type HubSetup, hubFolder } from './hub.js'
import { Lane, LaneFullError } from './lane.js'
import { LOADED_MODELS_MAX, RANKINGS_WAITING_MAX } from './limits.js'
import { localFolder } from './local-folder.js'
import { LateModelError, ModelError, type ModelName } from './model-error.js'
import {
  type CrossEncoder,
  loadRuntime,
  type ModelRuntime,
  type Pooling,
  type SentenceModel,
} from './runtime.js'

/** A model and its pooling. */
export interface ModelUse extends ModelName {
  readonly pooling: Pooling
}

interface CallOptions {
  /** Aborts the call. A model that only this call waits for is no longer downloaded. */
  readonly signal?: AbortSignal | undefined
  /**
   * Time of `performance.now()` after which the answer for a search is useless. The model is loaded anyway. Absent:
   * no search waits.
   */
  readonly deadline?: number | undefined
}

/** Models that run here. */
export interface Models {
  /**
   * Returns the vectors of `texts`, in order. The first call for a model downloads and loads it.
   * @param options with a `deadline`, the texts are those of a search, which does not wait for documents
   * @throws ModelError, LateModelError, or the reason of `signal`
   */
  vectors(use: ModelUse, texts: readonly string[], options: CallOptions): Promise<readonly Float32Array[]>
  /**
   * Returns the scores of documents for a query, in order, from 0 to 1. The first call for a model downloads and loads
   * it.
   * @throws ModelError, LateModelError, or the reason of `signal`
   */
  scores(name: ModelName, pairs: QueryDocuments, options: CallOptions): Promise<Float64Array>
  /** Aborts everything. */
  close(): void
}

/** A query, and the documents to score for it. */
export interface QueryDocuments {
  readonly query: string
  readonly documents: readonly string[]
}

export interface ModelsSetup extends HubSetup {
  /** Threads for documents, and as many for rankings, shared by all models. */
  readonly threads: number
  /** Version of this program. The addon must have the same version. */
  readonly version: string
}

/** A kind of model: how it is read from a folder, and its key among the models in memory. */
interface ModelKind<T> {
  readonly key: string
  read(runtime: ModelRuntime, folder: string): Promise<T>
}

const crossEncoder: ModelKind<CrossEncoder> = {
  key: 'crossEncoder',
  read: (runtime, folder) => runtime.crossEncoder(folder),
}

const sentenceModel = (pooling: Pooling): ModelKind<SentenceModel> => ({
  key: pooling,
  read: (runtime, folder) => runtime.sentenceModel(folder, pooling),
})

/** A model that is loaded or being loaded. */
interface Entry<T> {
  readonly key: string
  readonly model: Promise<T>
  readonly loading: AbortController
  /** Number of calls that wait for it. */
  waiting: number
  isLoaded: boolean
}

export function openModels(setup: ModelsSetup): Models {
  const loaded = new LRUCache<string, Entry<unknown>>({ max: LOADED_MODELS_MAX })
  const closing = new AbortController()
  // Searches must not wait for the documents of a batch, nor for rankings. libuv has four threads; this takes at most
  // three.
  const lanes = { searches: new Lane(), documents: new Lane(), rankings: new Lane(RANKINGS_WAITING_MAX) }
  let runtime: ModelRuntime | null = null

  function entryOf<T>(name: ModelName, kind: ModelKind<T>): Entry<T> {
    const key = JSON.stringify([name.model, name.revision, kind.key])
    // A key names its kind of model.
    const known = loaded.get(key) as Entry<T> | undefined
    if (known !== undefined) return known
    const loading = new AbortController()
    const signal = AbortSignal.any([loading.signal, closing.signal])
    const model = (async () => {
      // Loads the addon before a download, which would be useless without it.
      runtime ??= loadRuntime(setup.threads, setup.version)
      const folder = isAbsolute(name.model)
        ? await localFolder(name, setup.directory)
        : await hubFolder(setup, name, signal)
      return kind.read(runtime, folder)
    })()
    const entry = { key, model, loading, waiting: 0, isLoaded: false }
    loaded.set(key, entry)
    model.then(
      () => {
        entry.isLoaded = true
      },
      // The next call tries again.
      () => forget(entry),
    )
    return entry
  }

  function forget(entry: Entry<unknown>): void {
    if (loaded.peek(entry.key) === entry) loaded.delete(entry.key)
  }

  async function loadedModel<T>(
    name: ModelName,
    kind: ModelKind<T>,
    signal: AbortSignal,
    mayStop: boolean,
  ): Promise<T> {
    const entry = entryOf(name, kind)
    entry.waiting++
    try {
      return await untilAborted(entry.model, signal)
    } finally {
      entry.waiting--
      if (mayStop && signal.aborted && entry.waiting === 0 && !entry.isLoaded) {
        forget(entry)
        entry.loading.abort()
      }
    }
  }

  /** Loads a model and runs `work` in a lane, until the call is aborted or late. */
  async function call<T, R>(
    name: ModelName,
    kind: ModelKind<T>,
    { signal, deadline }: CallOptions,
    lane: Lane,
    work: (model: T, either: AbortSignal) => Promise<R>,
  ): Promise<R> {
    const limit = linkedSignal([signal, closing.signal], deadline === undefined ? null : msUntil(deadline))
    const either = limit.signal
    let isLoaded = false
    try {
      const model = await loadedModel(name, kind, either, deadline === undefined)
      isLoaded = true
      return await untilAborted(
        lane.run(() => work(model, either), either),
        either,
      )
    } catch (error) {
      signal?.throwIfAborted()
      if (limit.isLate) throw new LateModelError(name.model, isLoaded)
      if (error instanceof LaneFullError)
        throw new ModelError(`the model \`${name.model}\` is busy with other searches`)
      throw error
    } finally {
      limit.unlink()
    }
  }

  return {
    vectors(use, texts, options) {
      const isSearch = options.deadline !== undefined
      const lane = isSearch ? lanes.searches : lanes.documents
      return call(use, sentenceModel(use.pooling), options, lane, (model, signal) =>
        model.embed(texts, isSearch, signal),
      )
    },
    scores(name, { query, documents }, options) {
      const lane = options.deadline !== undefined ? lanes.rankings : lanes.documents
      return call(name, crossEncoder, options, lane, (model, signal) => model.score(query, documents, signal))
    },
    close: () => closing.abort(),
  }
}

const msUntil = (deadline: number): number => Math.max(0, Math.ceil(deadline - performance.now()))

/** Resolves to `value`. Rejects with the reason of `signal` as soon as it aborts. */
function untilAborted<T>(value: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort)
    value.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
