import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Creates a directory and its missing parents, and appends created paths to `made`. The recursive mode of Node.js
 * reports a wrong reason on a read-only or full file system, and never ends if a parent cannot hold directories, such
 * as `/proc`.
 * @param mode of each created directory; absent: the system's default
 */
export async function makeDirectory(path: string, mode?: number, made: string[] = []): Promise<void> {
  try {
    await mkdir(path, mode)
    made.push(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' && (await stat(path)).isDirectory()) return
    if (code !== 'ENOENT' || dirname(path) === path) throw error
    await makeDirectory(dirname(path), mode, made)
    await mkdir(path, mode)
    made.push(path)
  }
}
