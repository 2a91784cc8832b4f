/** Reads and replaces the small files of a data directory. */
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { LaunchError } from '../launch/index.js'

/** Returns the text of a file, or null if it does not exist. @throws LaunchError if it cannot be read */
export async function textOf(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return null
    throw new LaunchError(`${path} cannot be read: ${code}`, 1)
  }
}

/** Writes a file under a temporary name and renames it, so that a crash never leaves it empty. */
export async function replaceFile(path: string, content: string): Promise<void> {
  if ((await textOf(path)) === content) return
  try {
    await writeFile(`${path}.new`, content, { flush: true })
    await rename(`${path}.new`, path)
  } catch (error) {
    await rm(`${path}.new`, { force: true })
    throw error
  }
}
