import { closeSync, fsyncSync, openSync } from 'node:fs'

/** Syncs the names in a directory. Windows cannot open a directory; its file systems journal names themselves. */
export function syncNames(directory: string): void {
  if (process.platform === 'win32') return
  const handle = openSync(directory, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
