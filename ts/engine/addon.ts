import { createRequire } from 'node:module'
import { join } from 'node:path'
import { packageFolder } from '../launch/index.js'

/** A native module, or why none could be loaded: one line per place that was tried. */
export type LoadedAddon =
  | { readonly ok: true; readonly addon: unknown; readonly from: string }
  | { readonly ok: false; readonly reasons: readonly string[] }

/** Platforms with a binary, as they are named in package names and files. */
export const addonPlatforms = [
  'linux-x64-gnu',
  'linux-x64-musl',
  'linux-arm64-gnu',
  'linux-arm64-musl',
  'darwin-x64',
  'darwin-arm64',
  'win32-x64-msvc',
] as const
export type AddonPlatform = (typeof addonPlatforms)[number]

/** Which binary this process needs, null if there is none for it. */
export function addonPlatform(): AddonPlatform | null {
  const suffix = process.platform === 'linux' ? (isMusl() ? '-musl' : '-gnu') : ''
  const name = `${process.platform}-${process.arch}${process.platform === 'win32' ? '-msvc' : suffix}`
  return addonPlatforms.find((platform) => platform === name) ?? null
}

let musl: boolean | null = null

/** Node names the glibc it runs on in its report, and nothing on musl. */
function isMusl(): boolean {
  if (musl !== null) return musl
  // The report would otherwise look up the names of all open connections.
  const settings = process.report as { excludeNetwork?: boolean }
  const before = settings.excludeNetwork
  settings.excludeNetwork = true
  const report = process.report.getReport() as { readonly header?: { readonly glibcVersionRuntime?: string } }
  if (before !== undefined) settings.excludeNetwork = before
  musl = report.header?.glibcVersionRuntime === undefined
  return musl
}

/**
 * The engine and the interpreter of the scripts that edit documents, which come in one binary package, and what runs
 * embedding models, which comes in a package of its own.
 */
export type AddonName = 'engine' | 'script' | 'embed'

/** The binary package that holds an addon. */
export const addonPackage = (which: AddonName, platform: AddonPlatform): string =>
  `@siftd/${which === 'embed' ? 'embed' : 'engine'}-${platform}`

/** Loads the installed binary package, else the one built in this working copy. */
export function loadAddon(which: AddonName = 'engine'): LoadedAddon {
  const platform = addonPlatform()
  if (platform === null) {
    return { ok: false, reasons: [`there is no native engine for ${process.platform} on ${process.arch}`] }
  }
  const load = createRequire(import.meta.url)
  const file = `siftd-${which}.${platform}.node`
  const built = join(packageFolder(), 'npm', platform, file)
  const reasons: string[] = []
  for (const from of [`${addonPackage(which, platform)}/${file}`, built]) {
    try {
      return { ok: true, addon: load(from) as unknown, from }
    } catch (error) {
      const [reason] = (error instanceof Error ? error.message : String(error)).split('\n')
      reasons.push(`${from}: ${reason}`)
    }
  }
  return { ok: false, reasons }
}
