import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { installAdvice, packageFolder } from '../launch/index.js'

/** A native module, or why none could be loaded: one line per attempted path. */
type LoadedAddon =
  | { readonly ok: true; readonly addon: unknown; readonly from: string }
  | { readonly ok: false; readonly reasons: readonly string[] }

/** Platform name as used in package and file names, such as `linux-x64-gnu`. */
type AddonPlatform = string

/** Parts of Rust target names → Node.js names. */
const processors: Readonly<Record<string, string>> = { x86_64: 'x64', aarch64: 'arm64' }
const systems: Readonly<Record<string, string>> = {
  'unknown-linux-gnu': 'linux-*-gnu',
  'unknown-linux-musl': 'linux-*-musl',
  'apple-darwin': 'darwin-*',
  'pc-windows-msvc': 'win32-*-msvc',
}

/** Converts a Rust target name to a platform name. */
export function platformOf(target: string): AddonPlatform {
  const [processor = '', ...system] = target.split('-')
  const pattern = systems[system.join('-')]
  const name = processors[processor]
  if (pattern === undefined || name === undefined) throw new Error(`no platform is known for ${target}`)
  return pattern.replace('*', name)
}

/** Platforms that have a binary: the targets in the manifest of this package. */
export function addonPlatforms(): readonly AddonPlatform[] {
  const manifest = readFileSync(join(packageFolder(), 'package.json'), 'utf8')
  const { napi } = JSON.parse(manifest) as { readonly napi: { readonly targets: readonly string[] } }
  return napi.targets.map(platformOf)
}

/** Platform of the binary for this process, null if there is none. */
export function addonPlatform(): AddonPlatform | null {
  const suffix = process.platform === 'linux' ? (isMusl() ? '-musl' : '-gnu') : ''
  const name = `${process.platform}-${process.arch}${process.platform === 'win32' ? '-msvc' : suffix}`
  return addonPlatforms().find((platform) => platform === name) ?? null
}

/** The script `ldd` names its C library. Reading it saves 10 ms of a start, compared to a report of Node.js. */
const isMusl = (): boolean => isMuslByLdd() ?? isMuslByReport()

/** @returns null if `ldd` is missing or names no known library */
function isMuslByLdd(): boolean | null {
  try {
    const text = readFileSync('/usr/bin/ldd', 'latin1')
    if (text.includes('musl')) return true
    return /GNU C Library|GNU libc/.test(text) ? false : null
  } catch {
    return null
  }
}

/** Node.js reports the glibc version, and reports nothing on musl. */
function isMuslByReport(): boolean {
  // Without this, the report would resolve the host names of all open connections.
  const settings = process.report as { excludeNetwork?: boolean }
  const before = settings.excludeNetwork
  settings.excludeNetwork = true
  const report = process.report.getReport() as { readonly header?: { readonly glibcVersionRuntime?: string } }
  if (before !== undefined) settings.excludeNetwork = before
  return report.header?.glibcVersionRuntime === undefined
}

/**
 * `engine` and `script` (interpreter of scripts that edit documents) share a binary package. `embed`, the runtime of
 * embedding models, has its own package.
 */
export type AddonName = 'engine' | 'script' | 'embed'

/** The binary package that holds an addon. */
const addonPackage = (which: AddonName, platform: AddonPlatform): string =>
  `@siftd/${which === 'embed' ? 'embed' : 'engine'}-${platform}`

/** How to install the binary package of an addon; null if there is none for this machine. */
export function addonAdvice(which: AddonName, version?: string): string | null {
  const platform = addonPlatform()
  return platform === null ? null : installAdvice(addonPackage(which, platform), version)
}

/** Loads the installed binary package, or else the binary built in this working copy. */
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
