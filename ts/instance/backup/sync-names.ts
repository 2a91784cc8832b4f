import { open } from 'node:fs/promises'

/** Syncs a directory, and so the names of its files. Windows cannot open directories; NTFS journals names by itself. */
export async function syncNames(directory: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(directory, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
