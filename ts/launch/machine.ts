import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { availableParallelism, homedir, totalmem } from 'node:os'
import { dirname, join } from 'node:path'
import type { Machine } from './option.js'

/** The folder of this package. Files of the bundle lie at another depth in it than files that are compiled one by one. */
export const packageFolder = (): string =>
  dirname(createRequire(import.meta.url).resolve('siftd/package.json'))

/** `major.minor.patch` of this package. */
export function packageVersion(): string {
  const manifest = readFileSync(join(packageFolder(), 'package.json'), 'utf8')
  return (JSON.parse(manifest) as { readonly version: string }).version
}

/** The commit that was built. An unknown part is the text `unknown`. */
export interface Build {
  readonly commitSha: string
  /** RFC 3339. */
  readonly commitDate: string
}

/** What `scripts/build-info.mjs` wrote above the compiled files; all unknown if they were compiled without it. */
export function build(): Build {
  const unknown = { commitSha: 'unknown', commitDate: 'unknown' }
  try {
    const text = readFileSync(join(packageFolder(), 'dist', 'build-info.json'), 'utf8')
    return { ...unknown, ...(JSON.parse(text) as Partial<Build>) }
  } catch {
    return unknown
  }
}

/** The cores and the memory that this process may use, by the limits of its container. */
export function machine(): Machine {
  const limit = process.constrainedMemory()
  const total = totalmem()
  return {
    memoryBytes: limit !== undefined && limit > 0 ? Math.min(limit, total) : total,
    cores: availableParallelism(),
  }
}

/** The directory of per-user configuration on this system. */
export const userDirectory = (env: NodeJS.ProcessEnv): string =>
  join(env.XDG_CONFIG_HOME || env.APPDATA || join(homedir(), '.config'), 'siftd')
