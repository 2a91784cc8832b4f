import { readFileSync } from 'node:fs'
import { availableParallelism, totalmem } from 'node:os'
import type { Machine } from '../settings/index.js'

/** `major.minor.patch` of this package. */
export function packageVersion(): string {
  const manifest = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { readonly version: string }).version
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
