/** Loads the addon that runs models, or explains why it is missing. */
import { addonPackage, addonPlatform, loadAddon } from '../../engine/index.js'
import type * as EmbedAddon from './addon-types.js'
import { ModelError } from './model-error.js'

/** How the vectors of tokens are combined. */
export type Pooling = 'useModel' | 'forceCls' | 'forceMean'

/** A model in memory. */
export interface LoadedModel {
  readonly dimensions: number
  /**
   * Returns the vectors of `texts`, in order, computed off the main thread. Searches have their own thread.
   * @throws ModelError, or the reason of `signal`
   */
  embed(texts: readonly string[], isSearch: boolean, signal: AbortSignal): Promise<readonly Float32Array[]>
}

/** Reads a model from its folder, off the main thread. @throws ModelError */
export type LoadModel = (folder: string, pooling: Pooling) => Promise<LoadedModel>

/**
 * Loads the addon.
 * @param threads for documents, shared by all models
 * @throws ModelError with the package to install
 */
export function loadRuntime(threads: number, version: string): LoadModel {
  // The addon distributes texts over its own threads. Only this variable keeps candle from starting others.
  process.env.CANDLE_NUM_THREADS = '1'
  const loaded = loadAddon('embed')
  if (!loaded.ok) throw new ModelError(lacking(loaded.reasons, version))
  const { Runtime, StopFlag } = loaded.addon as typeof EmbedAddon
  const runtime = new Runtime(threads)
  return async (folder, pooling) => {
    const model = await runtime.load(folder, pooling).catch(rethrown)
    const { dimensions } = model
    return {
      dimensions,
      async embed(texts, isSearch, signal) {
        signal.throwIfAborted()
        const flag = new StopFlag()
        const stop = (): void => flag.set()
        signal.addEventListener('abort', stop)
        try {
          const bytes = await model.embed(Buffer.from(JSON.stringify(texts)), isSearch, flag)
          return vectorsIn(bytes, dimensions)
        } catch (error) {
          signal.throwIfAborted()
          return rethrown(error)
        } finally {
          signal.removeEventListener('abort', stop)
        }
      },
    }
  }
}

function vectorsIn(bytes: Buffer, dimensions: number): readonly Float32Array[] {
  // Copies the bytes, because floats must be aligned.
  const all = new Float32Array(new Uint8Array(bytes).buffer)
  return Array.from({ length: all.length / dimensions }, (_, at) =>
    all.slice(at * dimensions, (at + 1) * dimensions),
  )
}

/** Errors of the addon about a model are reported to the user. Any other error is a bug. */
function rethrown(error: unknown): never {
  const { code, message } = error as { readonly code?: unknown; readonly message: string }
  throw code === 'InvalidArg' ? new ModelError(message) : error
}

function lacking(reasons: readonly string[], version: string): string {
  const platform = addonPlatform()
  if (platform === null) {
    const machine = `${process.platform} on ${process.arch}`
    return `models of source \`huggingFace\` do not run on ${machine}: use \`rest\`, \`ollama\` or \`openAi\``
  }
  const name = addonPackage('embed', platform)
  return (
    `models of source \`huggingFace\` need the package \`${name}\`: \`npm install ${name}@${version}\`, ` +
    `or in a clone of the project \`npm run build:embed\`, and then a restart (${reasons.join('; ')})`
  )
}
