/** Loads the addon that runs models, or explains why it is missing. */
import { addonAdvice, loadAddon } from '../../engine/index.js'
import type * as EmbedAddon from './addon-types.js'
import { ModelError } from './model-error.js'

/** How the vectors of tokens are combined. */
export type Pooling = 'useModel' | 'forceCls' | 'forceMean'

/** A sentence model in memory. */
export interface SentenceModel {
  readonly dimensions: number
  /**
   * Returns the vectors of `texts`, in order, computed off the main thread. Searches have their own thread.
   * @throws ModelError, or the reason of `signal`
   */
  embed(texts: readonly string[], isSearch: boolean, signal: AbortSignal): Promise<readonly Float32Array[]>
}

/** A model in memory that scores documents for a query. */
export interface CrossEncoder {
  /**
   * Returns the scores of documents, in order, from 0 to 1, computed off the main thread by threads of their own.
   * @throws ModelError, or the reason of `signal`
   */
  score(query: string, documents: readonly string[], signal: AbortSignal): Promise<Float64Array>
}

/** Reads models from their folders, off the main thread. Throws a ModelError for a model that cannot be used. */
export interface ModelRuntime {
  sentenceModel(folder: string, pooling: Pooling): Promise<SentenceModel>
  crossEncoder(folder: string): Promise<CrossEncoder>
}

/**
 * Loads the addon.
 * @param threads for documents, and as many for rankings, shared by all models
 * @throws ModelError with the package to install
 */
export function loadRuntime(threads: number, version: string): ModelRuntime {
  // The addon distributes texts over its own threads. Only this variable keeps candle from starting others.
  process.env.CANDLE_NUM_THREADS = '1'
  const loaded = loadAddon('embed')
  if (!loaded.ok) throw new ModelError(lacking(loaded.reasons, version))
  const { Runtime, StopFlag } = loaded.addon as typeof EmbedAddon
  const runtime = new Runtime(threads)
  return {
    async sentenceModel(folder, pooling) {
      const model = await runtime.load(folder, pooling).catch(rethrown)
      const { dimensions } = model
      return {
        dimensions,
        async embed(texts, isSearch, signal) {
          const bytes = await stoppable(signal, (flag) => model.embed(encoded(texts), isSearch, flag))
          const all = new Float32Array(aligned(bytes))
          return Array.from({ length: all.length / dimensions }, (_, at) =>
            all.slice(at * dimensions, (at + 1) * dimensions),
          )
        },
      }
    },
    async crossEncoder(folder) {
      const model = await runtime.loadCrossEncoder(folder).catch(rethrown)
      return {
        async score(query, documents, signal) {
          const request = encoded({ query, documents })
          return new Float64Array(aligned(await stoppable(signal, (flag) => model.score(request, flag))))
        },
      }
    },
  }

  /** Stops a call of the addon when `signal` aborts. */
  async function stoppable(
    signal: AbortSignal,
    call: (flag: EmbedAddon.StopFlag) => Promise<Buffer>,
  ): Promise<Buffer> {
    signal.throwIfAborted()
    const flag = new StopFlag()
    const stop = (): void => flag.set()
    signal.addEventListener('abort', stop)
    try {
      return await call(flag)
    } catch (error) {
      signal.throwIfAborted()
      return rethrown(error)
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }
}

/** Encodes texts as JSON. The addon refuses halves of surrogate pairs, so they are replaced. */
const encoded = (value: object): Buffer =>
  Buffer.from(JSON.stringify(value, (_, part) => (typeof part === 'string' ? wellFormed(part) : part)))

const wellFormed = (text: string): string => (surrogate.test(text) ? Buffer.from(text).toString() : text)

const surrogate = /[\ud800-\udfff]/

/** Copies bytes, because floats must be aligned. */
const aligned = (bytes: Buffer): ArrayBuffer => new Uint8Array(bytes).buffer

/** Errors of the addon about a model are reported to the user. Any other error is a bug. */
function rethrown(error: unknown): never {
  const { code, message } = error as { readonly code?: unknown; readonly message: string }
  throw code === 'InvalidArg' ? new ModelError(message) : error
}

function lacking(reasons: readonly string[], version: string): string {
  const advice = addonAdvice('embed', version)
  if (advice === null) {
    const machine = `${process.platform} on ${process.arch}`
    return `models of source \`huggingFace\` do not run on ${machine}: use \`rest\`, \`ollama\` or \`openAi\``
  }
  return (
    `models of source \`huggingFace\` need a package: ${advice}, ` +
    `or in a clone of the project \`npm run build:embed\`, and then a restart (${reasons.join('; ')})`
  )
}
