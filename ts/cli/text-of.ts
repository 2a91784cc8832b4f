import { readFileSync } from 'node:fs'

/** The text of a file that options name; null if it does not exist. Throws errors of the system. */
export function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}
