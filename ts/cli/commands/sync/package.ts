/** Loads the package of a database, which is installed separately. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { installAdvice, LaunchError, packageFolder } from '../../../launch/index.js'
import type { SourcePackage } from '../../../transfer/index.js'

/** @throws LaunchError with the command that installs the package */
export async function sourcePackage(database: 'postgres'): Promise<SourcePackage> {
  const name = `@siftd/sync-${database}`
  try {
    return (await import(name)) as SourcePackage
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
  }
  const built = join(packageFolder(), 'dist', 'packages', `sync-${database}`, 'src', 'index.js')
  if (existsSync(built)) return (await import(pathToFileURL(built).href)) as SourcePackage
  throw new LaunchError(`the package ${name} is not installed: run ${installAdvice(name)}`, 1)
}
