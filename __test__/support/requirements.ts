/** What do tests need that not every machine has? */
import { type AddonName, loadAddon } from '../../ts/engine/addon.js'

/** Something that tests need and not every machine has. */
export interface Requirement {
  /** Why this machine lacks it; null if it is there. */
  readonly missing: string | null
  /** Whether tests without it fail instead of being skipped. */
  readonly isDemanded: boolean
}

/** Whether this run decides about a change. An empty `CI` says that a machine lacks things on purpose. */
export const isCi = Boolean(process.env.CI)

function addon(which: AddonName): Requirement {
  const loaded = loadAddon(which)
  return {
    missing: loaded.ok ? null : loaded.reasons.join('; '),
    // `npm test` sets the variable to `required` wherever it could build the addons.
    isDemanded: isCi || process.env.SIFTD_NATIVE_TESTS === 'required',
  }
}

/** A binary of the native engine. */
export const nativeEngine = addon('engine')

/** A binary of the interpreter of scripts that edit documents. */
export const scriptInterpreter = addon('script')

/** What runs embedding models. It is built by its own command alone, so no run of tests demands it. */
export const modelRuntime: Requirement = {
  missing: addon('embed').missing === null ? null : '`npm run build:embed` has not built what runs models',
  isDemanded: false,
}

/** Any system but Windows. @param lack what Windows cannot do */
export const otherThanWindows = (lack: string): Requirement => ({
  missing: process.platform === 'win32' ? lack : null,
  isDemanded: false,
})
