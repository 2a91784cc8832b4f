/**
 * Opens a data directory that must not change, such as one on a read-only file system.
 *
 * An instance writes to its directory even if it runs no task: locks, the log of the task store, recovery after a crash.
 * So it gets a temporary directory. Files that are written once are links there, all others are copies.
 */
import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { LaunchError } from '../launch/index.js'
import { DirectoryInUseError, requireUnclaimed } from '../tasks/index.js'
import { entriesOf } from './data-directory.js'
import { type Instance, type InstanceRequest, openInstance } from './instance.js'

/**
 * Files of the native engine that only commits append to or remove, by their path in an index. The engine finds commits
 * by the files of a directory, among which it counts no links.
 */
const linked = /^(?:(?:segment|late)-[^/]+|vectors\/[^/]+)$/

/** Files that an instance makes itself, or that belong to tasks, which are not run. */
const left = new Set(['lock', 'reserve', 'lost', 'paid_vectors'])

/**
 * Opens `request.directory` without changing it. The caller must not start the queue.
 * @throws LaunchError
 */
export async function openReadOnlyInstance(request: InstanceRequest): Promise<Instance> {
  const path = resolve(request.directory)
  if ((await entriesOf(path)).length === 0)
    throw new LaunchError(`${path} is empty or does not exist, so it cannot be opened read-only`, 1, {
      code: 'directory_unusable',
    })
  const copy = await mkdtemp(join(tmpdir(), 'siftd-read-only-'))
  const removeAtExit = (): void => rmSync(copy, { recursive: true, force: true })
  process.on('exit', removeAtExit)
  const remove = async (): Promise<void> => {
    process.off('exit', removeAtExit)
    await rm(copy, { recursive: true, force: true })
  }
  try {
    await requireUnclaimed(path)
    await copyInto(copy, path)
    const instance = await openInstance({
      ...request,
      directory: copy,
      upgrade: false,
      userDirectory: join(copy, randomUUID()),
    })
    return {
      ...instance,
      async close() {
        await instance.close()
        await remove()
      },
    }
  } catch (error) {
    await remove()
    throw inOriginal(error, copy, path)
  }
}

async function copyInto(copy: string, path: string): Promise<void> {
  for (const entry of await readdir(path, { withFileTypes: true })) {
    const [from, to] = [join(path, entry.name), join(copy, entry.name)]
    if (left.has(entry.name)) continue
    if (!entry.isDirectory()) await copyFile(from, to)
    else if (entry.name === 'indexes') await copyIndexes(to, from)
    else await copyDirectory(to, from, () => entry.name === 'update_files')
  }
}

async function copyIndexes(to: string, from: string): Promise<void> {
  await mkdir(to)
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [index, copy] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) await copyDirectory(copy, index, (file) => linked.test(file))
    else if (!left.has(entry.name)) await copyFile(index, copy)
  }
}

/** @param isLinked takes the path of a file inside `from`, with `/` */
async function copyDirectory(
  to: string,
  from: string,
  isLinked: (file: string) => boolean,
  below = '',
): Promise<void> {
  await mkdir(to)
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (left.has(entry.name)) continue
    if (entry.isDirectory()) await copyDirectory(target, source, isLinked, `${below}${entry.name}/`)
    else if (isLinked(`${below}${entry.name}`)) await link(source, target)
    else await copyFile(source, target)
  }
}

/** Links a file, or copies it where the user may not make links, as on Windows. */
async function link(source: string, target: string): Promise<void> {
  await symlink(source, target).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPERM') throw error
    return copyFile(source, target)
  })
}

/** Returns the error with the path of the directory that the caller named. */
function inOriginal(error: unknown, copy: string, path: string): unknown {
  if (error instanceof DirectoryInUseError)
    return new LaunchError(error.message, 1, { code: 'directory_in_use', cause: error })
  if (error instanceof LaunchError)
    return new LaunchError(error.message.replaceAll(copy, path), error.exitCode, {
      code: error.code,
      cause: error,
    })
  if (error instanceof Error && 'syscall' in error)
    return new LaunchError(`${path} cannot be opened read-only: ${error.message}`, 1, {
      code: 'directory_unusable',
      cause: error,
    })
  return error
}
