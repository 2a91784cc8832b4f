/**
 * Replaces the store of a data directory. The new store is built in a directory next to the old one, which stays in use
 * meanwhile:
 *
 *     next-store.part     is being built; useless after a crash
 *     next-store.<name>   is complete
 *     next-store          is chosen: the next opening of the data directory uses it, also after a crash
 *
 * Each is laid out like a data directory.
 */
import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { makeDirectory } from '../../engine/index.js'
import { syncNames } from '../../sqlite/index.js'
import { markPath, storePath } from './paths.js'

const CHOSEN = 'next-store'

const preparedPath = (directory: string, name: string): string => join(directory, `${CHOSEN}.${name}`)

/** Returns true if a store of that name is complete. */
const isPrepared = (directory: string, name: string): boolean => existsSync(preparedPath(directory, name))

/**
 * Builds a store under a name, unless it exists. Removes stores with other names.
 * @param make fills an empty directory, and syncs its files
 */
export async function prepareStore(
  directory: string,
  name: string,
  make: (path: string) => Promise<void>,
): Promise<void> {
  await dropPrepared(directory, name)
  if (isPrepared(directory, name)) return
  const part = preparedPath(directory, 'part')
  await makeDirectory(part, 0o700)
  await make(part)
  syncNames(part)
  await rename(part, preparedPath(directory, name))
  syncNames(directory)
}

/** Removes prepared stores. @param except name of a store to keep */
export async function dropPrepared(directory: string, except: string | null = null): Promise<void> {
  for (const name of await readdir(directory))
    if (name.startsWith(`${CHOSEN}.`) && name !== `${CHOSEN}.${except}`)
      await rm(join(directory, name), { recursive: true, force: true })
}

/** Makes the next opening use the complete store of that name. */
export async function chooseStore(directory: string, name: string): Promise<void> {
  await rename(preparedPath(directory, name), join(directory, CHOSEN))
  syncNames(directory)
}

/** Replaces the store by the chosen store, if one exists. The caller has the lock, and the store is closed. */
export function takeNextStore(directory: string): void {
  const chosen = join(directory, CHOSEN)
  if (!existsSync(chosen)) return
  const [next, here] = [storePath(chosen), storePath(directory)]
  const companions = (path: string): readonly string[] =>
    readdirSync(dirname(path)).filter((name) => name.startsWith(`${basename(path)}-`))
  // Once the database file is renamed, the files next to it belong to the new store.
  if (existsSync(next)) {
    rmSync(markPath(directory), { force: true })
    for (const name of companions(here)) rmSync(join(dirname(here), name))
    renameSync(next, here)
  }
  for (const name of companions(next)) renameSync(join(dirname(next), name), join(dirname(here), name))
  if (existsSync(markPath(chosen))) renameSync(markPath(chosen), markPath(directory))
  for (const changed of [dirname(here), directory]) syncNames(changed)
  rmSync(chosen, { recursive: true })
}
