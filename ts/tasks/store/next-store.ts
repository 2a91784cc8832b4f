/**
 * A store that replaces the one of a data directory. It is made in a directory next to the old one, which stays in use
 * until then:
 *
 *     next-store.part     is being made, and is of no use after a crash
 *     next-store.<name>   is complete
 *     next-store          is chosen: the next opening of the data directory takes it, and finishes this after a crash
 *
 * Each has the paths of a data directory.
 */
import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { makeDirectory } from '../make-directory.js'
import { markPath, storePath } from './paths.js'
import { syncNames } from './sync-names.js'

const CHOSEN = 'next-store'

const preparedPath = (directory: string, name: string): string => join(directory, `${CHOSEN}.${name}`)

/** Whether a store of that name is complete. */
export const isPrepared = (directory: string, name: string): boolean =>
  existsSync(preparedPath(directory, name))

/**
 * Makes a store under a name, unless it is there. Stores of other names are removed.
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

/** Removes stores that were prepared. @param except the name of one that stays */
export async function dropPrepared(directory: string, except: string | null = null): Promise<void> {
  for (const name of await readdir(directory))
    if (name.startsWith(`${CHOSEN}.`) && name !== `${CHOSEN}.${except}`)
      await rm(join(directory, name), { recursive: true, force: true })
}

/** Has the next opening of the store take the one of that name, which is complete. */
export async function chooseStore(directory: string, name: string): Promise<void> {
  await rename(preparedPath(directory, name), join(directory, CHOSEN))
  syncNames(directory)
}

/** Replaces the store by the chosen one, if there is any. The caller has the lock, and the store is closed. */
export function takeNextStore(directory: string): void {
  const chosen = join(directory, CHOSEN)
  if (!existsSync(chosen)) return
  const [next, here] = [storePath(chosen), storePath(directory)]
  const beside = (path: string): readonly string[] =>
    readdirSync(dirname(path)).filter((name) => name.startsWith(`${basename(path)}-`))
  // Once the file is renamed, what lies next to it belongs to the new store.
  if (existsSync(next)) {
    rmSync(markPath(directory), { force: true })
    for (const name of beside(here)) rmSync(join(dirname(here), name))
    renameSync(next, here)
  }
  for (const name of beside(next)) renameSync(join(dirname(next), name), join(dirname(here), name))
  if (existsSync(markPath(chosen))) renameSync(markPath(chosen), markPath(directory))
  for (const changed of [dirname(here), directory]) syncNames(changed)
  rmSync(chosen, { recursive: true })
}
