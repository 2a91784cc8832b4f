/** Embeds texts with models that run in this process. */
import { isAbsolute } from 'node:path'
import { LRUCache } from 'lru-cache'
import { type HubSetup, hubFolder } from './hub.js'
import { Lane } from './lane.js'
import { LOADED_MODELS_MAX } from './limits.js'
import { localFolder } from './local-folder.js'
import { ModelError, type ModelName } from './model-error.js'
import { type LoadedModel, type LoadModel, loadRuntime, type Pooling } from './runtime.js'

/** A model and its pooling. */
export interface ModelUse extends ModelName {
  readonly pooling: Pooling
}

interface VectorsOptions {
  /** Aborts the call. A model that only this call waits for is no longer downloaded. */
  readonly signal?: AbortSignal | undefined
  /**
   * Time of `performance.now()` after which the vectors of a search are useless. The model is loaded anyway. Absent:
   * the texts are from documents.
   */
  readonly deadline?: number | undefined
}

/** Models that run here. */
export interface Models {
  /**
   * Returns the vectors of `texts`, in order. The first call for a model downloads and loads it.
   * @throws ModelError, or the reason of `signal`
   */
  vectors(use: ModelUse, texts: readonly string[], options: VectorsOptions): Promise<readonly Float32Array[]>
  /** Aborts everything. */
  close(): void
}

export interface ModelsSetup extends HubSetup {
  /** Threads for documents, shared by all models. */
  readonly threads: number
  /** Version of this program. The addon must have the same version. */
  readonly version: string
}

/** A model that is loaded or being loaded. */
interface Entry {
  readonly key: string
  readonly model: Promise<LoadedModel>
  readonly loading: AbortController
  /** Number of calls that wait for it. */
  waiting: number
  isLoaded: boolean
}

export function openModels(setup: ModelsSetup): Models {
  const loaded = new LRUCache<string, Entry>({ max: LOADED_MODELS_MAX })
  const closing = new AbortController()
  // Searches must not wait for the documents of a batch. libuv has four threads; this takes at most two.
  const lanes = { searches: new Lane(), documents: new Lane() }
  let load: LoadModel | null = null

  function entryOf(use: ModelUse): Entry {
    const key = JSON.stringify([use.model, use.revision, use.pooling])
    const known = loaded.get(key)
    if (known !== undefined) return known
    const loading = new AbortController()
    const signal = AbortSignal.any([loading.signal, closing.signal])
    const model = (async () => {
      // Loads the addon before a download, which would be useless without it.
      load ??= loadRuntime(setup.threads, setup.version)
      const folder = isAbsolute(use.model)
        ? await localFolder(use, setup.directory)
        : await hubFolder(setup, use, signal)
      return load(folder, use.pooling)
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

  function forget(entry: Entry): void {
    if (loaded.peek(entry.key) === entry) loaded.delete(entry.key)
  }

  async function loadedModel(use: ModelUse, signal: AbortSignal, mayStop: boolean): Promise<LoadedModel> {
    const entry = entryOf(use)
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

  return {
    async vectors(use, texts, { signal, deadline }) {
      const late = deadline === undefined ? null : AbortSignal.timeout(msUntil(deadline))
      const signals = [signal, late, closing.signal].filter((each) => each !== undefined && each !== null)
      const either = AbortSignal.any(signals)
      try {
        const model = await loadedModel(use, either, late === null)
        const isSearch = late !== null
        const lane = isSearch ? lanes.searches : lanes.documents
        return await untilAborted(
          lane.run(() => model.embed(texts, isSearch, either), either),
          either,
        )
      } catch (error) {
        signal?.throwIfAborted()
        if (late?.aborted) throw new ModelError(`the model \`${use.model}\` was not ready in time`)
        throw error
      }
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
