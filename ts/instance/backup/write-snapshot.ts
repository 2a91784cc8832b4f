/** Writes a copy of a data directory to one file, concurrently with writes. */
import { chmod, mkdir, readdir, rename, rm, stat } from 'node:fs/promises'
import { join, relative, resolve, sep } from 'node:path'
import { makeDirectory, syncDirectory } from '../../engine/index.js'
import { ApiError } from '../../errors/index.js'
import { isDiskFull, noSpace, type SnapshotSource, type WriteSnapshot } from '../../tasks/index.js'
import type { ArchivedFile, ArchiveWriter } from './archive-writer.js'
import { CONTENTS_FILE, contentsText, ENGINE_FILE, INDEXES, STORE_FILE, UPLOADS } from './snapshot-files.js'

interface SnapshotSetup {
  /** The directory of snapshots, created if it does not exist. */
  readonly directory: string
  /** The file name of the newest snapshot, without `.snapshot`. */
  readonly name: string
  /** Number of snapshots that are kept, including the newest. */
  readonly keptMax: number
  /** The engine of the data directory. */
  readonly engine: string
  /** `major.minor.patch` of this build. */
  readonly version: string
  readonly instanceUid: string
}

/** Snapshots are never changed, only replaced. They hold secrets, so only their owner may read them. */
const READ_ONLY = 0o400

/** Index files are mostly compressed already: a higher level saves 3 % and takes three times as long. */
const GZIP_LEVEL = 1

/** The steps in order, with their names in the API. */
const STEPS = [
  'start the snapshot creation',
  'snapshot the index scheduler',
  'snapshot the update files',
  'snapshot the indexes',
  'create the tarball',
] as const

/**
 * Writes snapshots into a directory as `{name}.snapshot`, replacing the previous one. If more are kept, the previous
 * one is renamed with its date. The names of unfinished files begin with a dot and the uid of the instance. The next
 * snapshot removes the remains of a killed process.
 */
export function snapshotterTo(setup: SnapshotSetup): WriteSnapshot {
  const directory = resolve(setup.directory)
  const prefix = `.siftd-${setup.instanceUid}-snapshot`
  const removeLeftovers = async (): Promise<void> => {
    for (const name of await readdir(directory))
      if (name.startsWith(prefix)) await rm(join(directory, name), { recursive: true, force: true })
  }
  return async (source) => {
    const staged = join(directory, `${prefix}-files`)
    const archivePath = join(directory, `${prefix}.archive`)
    const target = join(directory, `${setup.name}.snapshot`)
    try {
      await makeDirectory(directory, 0o700)
      await removeLeftovers()
      await mkdir(staged, { mode: 0o700 })
      const paths = { archive: archivePath, entry: join(directory, `${prefix}.entry`) }
      const { ArchiveWriter } = await import('./archive-writer.js')
      const archive = new ArchiveWriter(paths, source.signal, GZIP_LEVEL)
      try {
        await fill(archive, source, { ...setup, staged })
        source.step('create the tarball', { finished: STEPS.length - 1, total: STEPS.length })
        await archive.end()
      } catch (error) {
        await archive.abandon()
        throw error
      }
      await rm(staged, { recursive: true })
      await chmod(archivePath, READ_ONLY)
      if (setup.keptMax > 1) await keepOlder(directory, setup, target)
      await rename(archivePath, target)
      await syncDirectory(directory)
    } catch (error) {
      await removeLeftovers().catch(() => undefined)
      throw failure(error, directory)
    }
  }
}

async function fill(
  archive: ArchiveWriter,
  source: SnapshotSource,
  { engine, version, staged }: SnapshotSetup & { readonly staged: string },
): Promise<void> {
  const enter = (name: (typeof STEPS)[number]): void =>
    source.step(name, { finished: STEPS.indexOf(name), total: STEPS.length })
  const files = new Map<string, ArchivedFile>()
  const add = async (path: string, file: string): Promise<void> => {
    files.set(path, await archive.addFile(path, file))
  }

  enter('start the snapshot creation')
  files.set(ENGINE_FILE, await archive.add(ENGINE_FILE, engine))

  enter('snapshot the index scheduler')
  const store = join(staged, 'tasks.db')
  const { indexes, uploads, release } = await source.freeze(store)
  try {
    await add(STORE_FILE, store)
    await rm(store)

    enter('snapshot the update files')
    for (const path of uploads) await add(`${UPLOADS}/${nameOf(path)}`, path)

    enter('snapshot the indexes')
    for (const [position, { id, copyTo }] of indexes.entries()) {
      source.count('index', position, indexes.length)
      const copy = join(staged, id)
      if (!(await copyTo(copy))) continue
      for (const file of await filesBelow(copy))
        await add(`${INDEXES}/${id}/${relative(copy, file).split(sep).join('/')}`, file)
      await rm(copy, { recursive: true })
    }
  } finally {
    await release()
  }
  await archive.add(CONTENTS_FILE, contentsText({ version, files }))
}

const nameOf = (path: string): string => path.slice(path.lastIndexOf(sep) + 1)

async function filesBelow(directory: string): Promise<readonly string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
}

/** Renames the newest snapshot to keep it, and removes the oldest beyond the limit. */
async function keepOlder(directory: string, { name, keptMax }: SnapshotSetup, newest: string): Promise<void> {
  const writtenAt = await stat(newest).then(
    ({ mtime }) => mtime,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null
      throw error
    },
  )
  if (writtenAt === null) return
  await rename(newest, join(directory, `${name}-${dateIn(writtenAt)}.snapshot`))
  const older = (await readdir(directory)).filter((file) => isOlder(file, name)).sort()
  for (const file of older.slice(0, Math.max(0, older.length - (keptMax - 1))))
    await rm(join(directory, file), { force: true })
  // Snapshots of earlier versions were readable for everybody.
  for (const file of older.slice(-(keptMax - 1))) await chmod(join(directory, file), READ_ONLY)
}

const isOlder = (file: string, name: string): boolean =>
  file.startsWith(`${name}-`) && /^-\d{8}-\d{9}\.snapshot$/.test(file.slice(name.length))

/** `YYYYMMDD-HHMMSSmmm` in UTC, as in the names of dumps. */
const dateIn = (at: Date): string =>
  at
    .toISOString()
    .replace(/[-:.Z]/g, '')
    .replace('T', '-')

/** Adds the directory to an error of the file system; returns other errors unchanged. */
function failure(error: unknown, directory: string): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException
  if (error instanceof ApiError) return error
  if (isDiskFull(error)) return noSpace(`a snapshot in ${directory}`)
  if (code === undefined || syscall === undefined) return error
  return new ApiError(
    'io_error',
    `the snapshot could not be written to ${directory}: ${(error as Error).message}`,
  )
}
