import { readFileSync } from 'node:fs'

/** Reads a file as text; null: it does not exist. @throws system errors */
export function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}
