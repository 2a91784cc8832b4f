import { open } from 'node:fs/promises'

/** Syncs the names of a directory to disk. Windows cannot open directories; NTFS journals names by itself. */
export async function syncNames(directory: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(directory, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
