/** Builds, copies and compares data directories for tests that damage them. */
import { cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ExecutionContext } from 'ava'
import { open, type Siftd } from '../../ts/index.js'
import { nativeEngine } from './requirements.js'

export type EngineKind = 'native' | 'fallback'

/** The engines to test. Includes a missing engine if it is required: its tests then fail. */
export const engineKinds: readonly EngineKind[] =
  nativeEngine.missing === null || nativeEngine.isDemanded ? ['fallback', 'native'] : ['fallback']

export async function temporary(t: ExecutionContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'siftd-damage-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  return directory
}

/** Opens a data directory in this process. Closes it when the test ends. */
export async function opened(t: ExecutionContext, directory: string, engine?: EngineKind): Promise<Siftd> {
  const siftd = await open({ directory, logLevel: 'OFF', ...(engine !== undefined && { engine }) })
  let closing: Promise<void> | null = null
  const close = () => {
    closing ??= siftd.close()
    return closing
  }
  t.teardown(close)
  return { ...siftd, close }
}

/** Copies a data directory as a kill would leave it now. No work may be in progress. */
export async function asKilled(t: ExecutionContext, directory: string): Promise<string> {
  const copy = join(await temporary(t), 'data')
  for (let isCopied = false; !isCopied; ) {
    isCopied = await cp(directory, copy, { recursive: true }).then(
      () => true,
      (error: NodeJS.ErrnoException) => {
        // A file written in the background was renamed during the copy.
        if (error.code !== 'ENOENT') throw error
        return false
      },
    )
    if (!isCopied) await rm(copy, { recursive: true, force: true })
  }
  await rm(join(copy, 'tasks', 'lock'), { force: true })
  return copy
}

/** Returns the content of every file by path below the directory. */
export async function contentOf(directory: string): Promise<Readonly<Record<string, string>>> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  const found: Record<string, string> = {}
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name)
    found[path.slice(directory.length)] = entry.isFile() ? (await readFile(path)).toString('base64') : ''
  }
  return found
}
