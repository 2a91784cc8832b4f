/** Requirements of tests that not every machine fulfils. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type AddonName, addonPlatform, loadAddon } from '../../ts/engine/addon.js'
import { packageFolder } from '../../ts/launch/index.js'

/** Something that tests need but not every machine has. */
export interface Requirement {
  /** Why it is missing; null if it exists. */
  readonly missing: string | null
  /** If true, tests fail without it instead of being skipped. */
  readonly isDemanded: boolean
}

/** True in a CI run. An empty `CI` means that missing tools are intended. */
export const isCi = Boolean(process.env.CI)

/** `npm test` sets the variable to `required` if it could build the addons. */
const isNativeDemanded = isCi || process.env.SIFTD_NATIVE_TESTS === 'required'

function addon(which: AddonName): Requirement {
  const loaded = loadAddon(which)
  return {
    missing: loaded.ok ? null : loaded.reasons.join('; '),
    isDemanded: isNativeDemanded,
  }
}

/** Path of the types of an addon, written by a build of this checkout. */
export const builtTypes = (which: AddonName): string =>
  join(packageFolder(), 'npm', addonPlatform() ?? 'none', `siftd-${which}.d.ts`)

/** An addon built in this checkout, not installed or copied. */
export const addonBuild = (which: AddonName): Requirement => ({
  missing: existsSync(builtTypes(which)) ? null : `no build has written the types of the addon ${which}`,
  isDemanded: which !== 'embed' && isNativeDemanded,
})

/** The bundled program. It does not exist if the bundler cannot run. */
export const bundle: Requirement = {
  missing: existsSync(join(packageFolder(), 'dist', 'bundle', 'siftd.js')) ? null : 'no bundle',
  isDemanded: isCi,
}

/** The binary of the native engine. */
export const nativeEngine = addon('engine')

/** The binary of the script interpreter for document edits. */
export const scriptInterpreter = addon('script')

/** The runtime for local embedding models. Required only in the CI job that builds it. */
export const modelRuntime: Requirement = {
  missing: addon('embed').missing === null ? null : '`npm run build:embed` has not built the model runtime',
  isDemanded: process.env.SIFTD_MODEL_TESTS === 'required',
}

/** Any system except Windows. @param lack why Windows is not supported */
export const otherThanWindows = (lack: string): Requirement => ({
  missing: process.platform === 'win32' ? lack : null,
  isDemanded: false,
})
