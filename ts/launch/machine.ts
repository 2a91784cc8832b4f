import { existsSync, readFileSync } from 'node:fs'
import { availableParallelism, homedir, totalmem } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Machine } from './option.js'

/**
 * Returns the package directory: the next one above this file whose manifest has our name. Bundled and compiled files
 * are at different depths, and the bundle has a manifest for its module format.
 */
export function packageFolder(): string {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; ) {
    const manifest = join(folder, 'package.json')
    if (existsSync(manifest) && nameIn(manifest) === 'siftd') return folder
    const above = dirname(folder)
    if (above === folder) throw new Error('the package folder of siftd is missing')
    folder = above
  }
}

const nameIn = (manifest: string): unknown =>
  (JSON.parse(readFileSync(manifest, 'utf8')) as { readonly name?: unknown }).name

/** `major.minor.patch` of this package. */
export function packageVersion(): string {
  const manifest = readFileSync(join(packageFolder(), 'package.json'), 'utf8')
  return (JSON.parse(manifest) as { readonly version: string }).version
}

/**
 * Returns how to install a package next to siftd, which finds packages only from its own folder: an installation in the
 * current folder has no effect on a global siftd.
 */
export const installAdvice = (name: string, version = packageVersion()): string =>
  `\`npm install ${name}@${version}\` where siftd is installed (\`npm install --global …\` if it is global)`

/** The commit of the build. Unknown parts are the text `unknown`. */
export interface Build {
  readonly commitSha: string
  /** RFC 3339. */
  readonly commitDate: string
}

/** Reads the file written by `scripts/build-info.mjs` above the compiled files; all unknown without that file. */
export function build(): Build {
  const unknown = { commitSha: 'unknown', commitDate: 'unknown' }
  try {
    const text = readFileSync(join(packageFolder(), 'dist', 'build-info.json'), 'utf8')
    return { ...unknown, ...(JSON.parse(text) as Partial<Build>) }
  } catch {
    return unknown
  }
}

/** Returns the cores and memory that this process may use, within the limits of its container. */
export function machine(): Machine {
  const limit = process.constrainedMemory()
  const total = totalmem()
  return {
    memoryBytes: limit !== undefined && limit > 0 ? Math.min(limit, total) : total,
    cores: availableParallelism(),
  }
}

/** Returns the directory of per-user configuration on this system. */
export const userDirectory = (env: NodeJS.ProcessEnv): string =>
  join(env.XDG_CONFIG_HOME || env.APPDATA || join(homedir(), '.config'), 'siftd')
