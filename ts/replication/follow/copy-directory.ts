/** Makes data directories from a bucket, and sets aside data that the bucket does not have. */
import { readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { makeDirectory } from '../../engine/index.js'
import { copyState, entriesOf, markDataDirectory, recordEngine, setCopyState } from '../../instance/index.js'
import { LaunchError, type LaunchOptions } from '../../launch/index.js'
import { dropPrepared } from '../../tasks/index.js'
import { type Connected, takeOver } from '../lead/connect.js'
import type { Until } from '../log/until.js'
import { repeatingStore } from '../object-store/index.js'
import type { OpenedBucket, Origin } from '../open-bucket.js'
import { fetchUploads } from '../publish/uploads.js'
import { type CopySetup, LogTruncatedError } from './instance-copy.js'
import { openCopy } from './open-copy.js'
import { restoreInstance } from './restore.js'

export interface DirectoryRequest {
  readonly bucket: OpenedBucket
  readonly origin: Origin
  /** The data directory: empty or a copy. */
  readonly directory: string
  /** `major.minor.patch` of this build. */
  readonly version: string
  readonly signal: AbortSignal
  readonly log: { warn(facts: object, message: string): void }
  /** Called when the copy is damaged and is fetched again. */
  readonly onDamaged?: () => Promise<void> | void
  /** Called often. */
  progress(doing: string, finished: number, total: number): void
}

/** Prefix of the names of directories with set-aside data. */
const DIVERGED = 'diverged-'

/** File in each of them that says why the data was set aside. */
const DIVERGED_NOTE = 'diverged.json'

/** File that names the directory to which data is being moved. */
const MOVING = 'setting-aside'

/** Number of older ones to keep when data is set aside again. */
const DIVERGED_KEPT = 2

/** Returns true if a directory is empty except for set-aside data. */
export const isEmpty = async (directory: string): Promise<boolean> =>
  (await entriesOf(directory)).every((name) => name.startsWith(DIVERGED))

/** Applies the log to a copy up to its end, then takes the log over. @throws UnfitStoreError, BucketError, errors of damaged objects */
export async function takeOverCopy(
  request: DirectoryRequest,
  options: Pick<LaunchOptions, 'advertisedUrl' | 'candidate'>,
): Promise<Connected> {
  await beginCopy(request)
  const { bucket, signal, log } = request
  const probing = new AbortController()
  const fit = bucket.requireFit(AbortSignal.any([signal, probing.signal]))
  // The result is awaited before the takeover.
  fit.catch(() => undefined)
  for (;;) {
    try {
      return await takeOverOnce(request, options, fit)
    } catch (error) {
      if (!(error instanceof LogTruncatedError)) {
        probing.abort()
        throw error
      }
      log.warn({ err: error }, 'the log changed while this server took it over: trying again')
    }
  }
}

async function takeOverOnce(
  request: DirectoryRequest,
  { advertisedUrl: address, candidate }: Pick<LaunchOptions, 'advertisedUrl' | 'candidate'>,
  fit: Promise<void>,
): Promise<Connected> {
  const { bucket, directory, signal, version, origin } = request
  const { copy, replica, target } = await openCopy(await copySetup(request, null), signal)
  try {
    while (!(await copy.advance(target, signal)));
    const writer = await replica.identify()
    if (copy.fence === null) throw new LaunchError('--bucket: its log does not begin with a fence', 1)
    const { engine } = copy.fence
    const successor = {
      ...{ instanceUid: origin.instanceUid, address, engine, version },
      ...{ writer, next: copy.next, known: { state: copy.state, base: copy.base } },
      heartbeats: candidate !== 'no',
    }
    await fit
    const taken = await takeOver(bucket, successor, (seq, record) => copy.take(seq, record), signal)
    await copy.settle(target, signal)
    const store = repeatingStore(bucket.store, bucket.repeating)
    const [missing] = await fetchUploads(await replica.uploads(), directory, store, signal)
    if (missing !== undefined)
      throw new LaunchError(
        `--bucket: the object ${missing} is missing: a part of an upload of an enqueued task`,
        1,
      )
    await recordEngine(directory, engine)
    await setCopyState(directory, null)
    return taken
  } finally {
    await replica.close()
  }
}

/**
 * Restores a directory to an earlier point of the log.
 * @returns its last log record, and the keys of missing upload parts
 */
export async function restoreMoment(
  request: DirectoryRequest,
  until: Until,
): Promise<{ readonly position: number; readonly missing: readonly string[] }> {
  await beginCopy(request)
  const { directory, signal } = request
  const { position, missing, fence } = await restoreInstance(await copySetup(request, until), signal)
  if (fence === null) throw new LaunchError('--bucket-until: the bucket holds nothing of that moment', 1)
  await recordEngine(directory, fence.engine)
  await setCopyState(directory, 'whole')
  return { position, missing }
}

/** Marks a directory as a copy, so that an unfinished copy is not used as data. */
export async function beginCopy({ directory, version, origin }: DirectoryRequest): Promise<void> {
  if (!origin.hasCheckpoint)
    throw new LaunchError(
      '--bucket: it has no checkpoint yet, since the first server has not finished filling it; start that server, or choose another prefix',
      1,
    )
  if ((await copyState(directory)) === null) {
    await makeDirectory(directory, 0o700)
    await setCopyState(directory, 'copying')
  }
  await markDataDirectory(directory, version, origin.instanceUid)
}

export async function copySetup(
  request: Pick<DirectoryRequest, 'bucket' | 'directory' | 'log' | 'progress' | 'onDamaged'>,
  until: Until | null,
): Promise<CopySetup> {
  const { bucket, directory, log, progress, onDamaged } = request
  const [newest] = await asideIn(directory)
  return {
    ...{ log: bucket.log, store: bucket.store, repeating: bucket.repeating, directory, until },
    seed: newest ?? null,
    progress: (finished, total) => progress('fetching indexes from the bucket', finished, total),
    onDamaged(error) {
      log.warn({ err: error }, 'the copy of the bucket is damaged and is fetched again')
      onDamaged?.()
    },
  }
}

/** Directories with set-aside data, newest first. */
async function asideIn(directory: string): Promise<readonly string[]> {
  const names = (await entriesOf(directory)).filter((name) => name.startsWith(DIVERGED))
  const dated = await Promise.all(
    names.map(async (name) => {
      const path = join(directory, name)
      return { path, at: (await stat(join(path, DIVERGED_NOTE)).catch(() => null))?.mtimeMs ?? 0 }
    }),
  )
  return dated.sort((one, other) => other.at - one.at).map(({ path }) => path)
}

/**
 * Moves data with changes that the bucket does not have into a subdirectory, and removes old subdirectories.
 * @param epoch of the new leader
 * @param unsent transactions that the bucket does not have
 * @returns path of the subdirectory
 */
export async function setAside(directory: string, epoch: number, unsent: number): Promise<string> {
  await dropPrepared(directory)
  for (const old of (await asideIn(directory)).slice(DIVERGED_KEPT))
    await rm(old, { recursive: true, force: true })
  let aside = join(directory, `${DIVERGED}${epoch}`)
  for (let number = 1; (await entriesOf(aside)).length > 0; number++)
    aside = join(directory, `${DIVERGED}${epoch}-${number}`)
  await makeDirectory(aside)
  const note = { epoch, unsentTransactions: unsent, setAsideAt: new Date().toISOString() }
  await writeFile(join(aside, DIVERGED_NOTE), `${JSON.stringify(note, null, 2)}\n`, { flush: true })
  await writeFile(join(directory, MOVING), basename(aside), { flush: true })
  await endSettingAside(directory)
  return aside
}

/** Moves the rest of the data that `setAside` was moving. Does nothing if it had ended. */
export async function endSettingAside(directory: string): Promise<void> {
  const aside = await readFile(join(directory, MOVING), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (aside === null) return
  for (const name of await readdir(directory))
    if (name !== MOVING && !name.startsWith(DIVERGED))
      await rename(join(directory, name), join(directory, basename(aside), name))
  await rm(join(directory, MOVING))
}
