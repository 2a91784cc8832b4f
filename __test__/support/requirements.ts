/** What do tests need that not every machine has? */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type AddonName, addonPlatform, loadAddon } from '../../ts/engine/addon.js'
import { packageFolder } from '../../ts/launch/index.js'

/** Something that tests need and not every machine has. */
export interface Requirement {
  /** Why this machine lacks it; null if it is there. */
  readonly missing: string | null
  /** Whether tests without it fail instead of being skipped. */
  readonly isDemanded: boolean
}

/** Whether this run decides about a change. An empty `CI` says that a machine lacks things on purpose. */
export const isCi = Boolean(process.env.CI)

/** `npm test` sets the variable to `required` wherever it could build the addons. */
const isNativeDemanded = isCi || process.env.SIFTD_NATIVE_TESTS === 'required'

function addon(which: AddonName): Requirement {
  const loaded = loadAddon(which)
  return {
    missing: loaded.ok ? null : loaded.reasons.join('; '),
    isDemanded: isNativeDemanded,
  }
}

/** Where a build of this checkout leaves the types of an addon. */
export const builtTypes = (which: AddonName): string =>
  join(packageFolder(), 'npm', addonPlatform() ?? 'none', `siftd-${which}.d.ts`)

/** An addon that was built here, not installed or copied. */
export const addonBuild = (which: AddonName): Requirement => ({
  missing: existsSync(builtTypes(which)) ? null : `no build has left the types of the addon ${which}`,
  isDemanded: which !== 'embed' && isNativeDemanded,
})

/** The program in one file, which is not made where its bundler does not run. */
export const bundle: Requirement = {
  missing: existsSync(join(packageFolder(), 'dist', 'bundle', 'siftd.js')) ? null : 'nothing is bundled',
  isDemanded: isCi,
}

/** A binary of the native engine. */
export const nativeEngine = addon('engine')

/** A binary of the interpreter of scripts that edit documents. */
export const scriptInterpreter = addon('script')

/** The runtime of local embedding models. Required only in the CI job that builds it. */
export const modelRuntime: Requirement = {
  missing: addon('embed').missing === null ? null : '`npm run build:embed` has not built what runs models',
  isDemanded: process.env.SIFTD_MODEL_TESTS === 'required',
}

/** Any system but Windows. @param lack what Windows cannot do */
export const otherThanWindows = (lack: string): Requirement => ({
  missing: process.platform === 'win32' ? lack : null,
  isDemanded: false,
})
