/** Finds files that an operation left behind, and damaged archives. */
import { mkdir, readdir, rm } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { unpack } from '../../ts/instance/backup/archive-reader.js'
import { restoreSnapshot } from '../../ts/instance/index.js'
import type { Place } from './operations.js'

/** Counts all files by kind: by path with the parts that differ between runs replaced. */
export async function shapesIn(directory: string): Promise<ReadonlyMap<string, number>> {
  const shapes = new Map<string, number>()
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const path = relative(directory, join(entry.parentPath, entry.name))
    const shape = path
      .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'UID')
      .replace(/(?<![a-z])[0-9a-f]{16,}(?![a-z])/g, 'ID')
      .replace(/\d+/g, 'N')
    shapes.set(shape, (shapes.get(shape) ?? 0) + 1)
  }
  return shapes
}

/** Yields kinds or numbers of files that an uninterrupted operation does not leave. */
export function* leftovers(
  found: ReadonlyMap<string, number>,
  usual: ReadonlyMap<string, number>,
): Generator<string> {
  for (const [shape, number] of found) {
    // Dumps have unique names, so a second dump does not replace the first.
    const usualNumber = usual.get(shape) ?? 0
    if (usualNumber === 0) yield `left behind: ${shape}`
    else if (number > usualNumber && !shape.startsWith('dumps/'))
      yield `left behind: ${number} of ${shape}, expected ${usualNumber}`
  }
}

const fileNames = (directory: string): Promise<readonly string[]> =>
  readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })

/** Reads all archives with their final name. @returns a line for each damaged one */
export async function brokenArchives(place: Place): Promise<string[]> {
  const problems: string[] = []
  const { signal } = new AbortController()
  const workspace = join(place.root, 'reading')
  const check = async (archive: string, read: () => Promise<unknown>): Promise<void> => {
    await mkdir(workspace)
    await read().catch((error: unknown) => problems.push(`${archive} is damaged: ${error}`))
    await rm(workspace, { recursive: true })
  }
  for (const name of await fileNames(place.snapshots)) {
    if (!name.endsWith('.snapshot')) continue
    const archive = join(place.snapshots, name)
    await check(archive, () =>
      restoreSnapshot({ archive, directory: workspace, signal, progress: () => undefined }),
    )
  }
  for (const name of await fileNames(place.dumps)) {
    if (!name.endsWith('.dump')) continue
    const archive = join(place.dumps, name)
    await check(archive, async () => {
      const unpacked = await unpack(archive, join(workspace, 'unpacked'), () => true, signal)
      // The last file in a dump.
      if (!unpacked.has('webhooks.json')) throw new Error('it contains no webhooks.json')
    })
  }
  return problems
}
