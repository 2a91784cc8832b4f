/** Finds files of an index directory by name. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'

/** Path of the last file of `directory` by name that matches `names`; null if there is none. */
export async function newestFile(directory: string, names: RegExp): Promise<string | null> {
  const found = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  const last = found
    .filter((name) => names.test(name))
    .sort()
    .at(-1)
  return last === undefined ? null : join(directory, last)
}
