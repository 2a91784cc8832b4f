import { type FileHandle, open } from 'node:fs/promises'

/** Makes a new or renamed directory entry durable; does nothing where directories cannot be opened. */
export async function syncDirectory(path: string): Promise<void> {
  let directory: FileHandle
  try {
    directory = await open(path, 'r')
  } catch (error) {
    // Windows cannot open directories; its file systems journal names themselves.
    if (process.platform === 'win32') return
    throw error
  }
  try {
    await directory.sync()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error
  } finally {
    await directory.close()
  }
}
