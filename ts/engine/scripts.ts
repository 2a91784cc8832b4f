import { ApiError, type ErrorCode } from '../errors/index.js'
import { loadAddon } from './addon.js'
import type { StopSignal } from './engine.js'
import type * as ScriptAddon from './script-addon-types.js'

/** Documents, and the Rhai script to run over each of them. */
export interface ScriptPage {
  readonly function: string
  /** What the script sees as `context`; null: nothing. */
  readonly context: Readonly<Record<string, unknown>> | null
  /** Null only where there are no documents. */
  readonly primaryKey: string | null
  /** How long the whole page may take. */
  readonly timeMsMax: number
  /** Answer of `Engine.documents`. */
  readonly documents: Uint8Array
}

export interface EditedPage {
  /** Documents that changed, as NDJSON. */
  readonly changed: Uint8Array
  /** Ids of documents to delete. */
  readonly deleted: readonly string[]
  /** Documents that the script was run over, from the first of the page: fewer than all once changes are large. */
  readonly documents: number
}

/**
 * Runs scripts off the main thread, bounded in time, steps, depth and memory.
 * Rejects with `bad_request` for a script that does not compile, `edit_documents_by_function_error` for one
 * that fails or that `stop` ended.
 */
export type RunScript = (page: ScriptPage, stop?: StopSignal) => Promise<EditedPage>

/** The interpreter of scripts, or why there is none on this machine. */
export function loadScripts(): RunScript | { readonly reasons: readonly string[] } {
  const loaded = loadAddon('script')
  if (!loaded.ok) return { reasons: loaded.reasons }
  const { editPage, StopFlag } = loaded.addon as typeof ScriptAddon
  return async ({ documents, ...page }, stop) => {
    // The listing is JSON already: it is set into the page as it is.
    const head = Buffer.from(`${JSON.stringify(page).slice(0, -1)},"documents":`)
    const flag = new StopFlag()
    const end = (): void => flag.set()
    stop?.addEventListener('abort', end)
    if (stop?.aborted) end()
    const whole = Buffer.concat([head, documents, Buffer.from('}')])
    const reply = await editPage(whole, flag).finally(() => stop?.removeEventListener('abort', end))
    if (reply.code === undefined)
      return {
        changed: reply.changed ?? new Uint8Array(),
        deleted: reply.deleted,
        documents: reply.documents,
      }
    if (reply.code === 'internal') throw new Error(reply.message)
    throw new ApiError(reply.code as ErrorCode, reply.message ?? '')
  }
}
