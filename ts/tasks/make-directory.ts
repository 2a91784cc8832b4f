import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Makes a directory and those above it, and adds what it makes to `made`. The recursive form of Node.js tells a wrong
 * reason on a read-only or full file system, and does not end where a parent refuses to hold any directory, such as
 * `/proc`.
 * @param mode of each directory that is made; absent: the system's
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
