import { ApiError, type ErrorCode } from '../errors/index.js'
import { loadAddon } from './addon.js'
import type { StopSignal } from './engine.js'
import type * as ScriptAddon from './script-addon-types.js'

/** Documents, and the Rhai script to run on each of them. */
interface ScriptPage {
  readonly function: string
  /** Value of `context` in the script; null: not set. */
  readonly context: Readonly<Record<string, unknown>> | null
  /** Null only if there are no documents. */
  readonly primaryKey: string | null
  /** Time limit for the request page. */
  readonly timeMsMax: number
  /** Answer of `Engine.documents`. */
  readonly documents: Uint8Array
}

interface EditedPage {
  /** Documents that changed, as NDJSON. */
  readonly changed: Uint8Array
  /** Ids of documents to delete. */
  readonly deleted: readonly string[]
  /** Number of documents the script ran on, from the start of the page. Less than all if the changes are large. */
  readonly documents: number
}

/**
 * Runs scripts off the main thread, bounded in time, steps, depth and memory. Rejects with `bad_request` if a script
 * does not compile, and with `edit_documents_by_function_error` if it fails or is stopped.
 */
export type RunScript = (page: ScriptPage, stop?: StopSignal) => Promise<EditedPage>

/** Loads the script interpreter, or returns why this machine has none. */
export function loadScripts(): RunScript | { readonly reasons: readonly string[] } {
  const loaded = loadAddon('script')
  if (!loaded.ok) return { reasons: loaded.reasons }
  const { editPage, StopFlag } = loaded.addon as typeof ScriptAddon
  return async ({ documents, ...page }, stop) => {
    // The listing is JSON already and is inserted unchanged.
    const head = Buffer.from(`${JSON.stringify(page).slice(0, -1)},"documents":`)
    const flag = new StopFlag()
    const end = (): void => flag.set()
    stop?.addEventListener('abort', end)
    if (stop?.aborted) end()
    const request = Buffer.concat([head, documents, Buffer.from('}')])
    const reply = await editPage(request, flag).finally(() => stop?.removeEventListener('abort', end))
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
