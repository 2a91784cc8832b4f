/** An index in memory, its files, and its pending batch and background work. */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { defaultIndexSettings } from '../../settings/index.js'
import type { BackgroundFaultKind } from '../background-faults.js'
import { makeDirectory } from '../make-directory.js'
import { syncDirectory } from '../sync-directory.js'
import { adoptionOf } from './adoption.js'
import type { Dictionaries } from './analysis/words/index.js'
import { type Cache, OwnedCache } from './cache.js'
import { builtOf } from './index-data/built.js'
import { emptyIndex, fieldId, type IndexData, type StoredDocument } from './index-data/index-data.js'
import { readSnapshot, type Snapshot, snapshotPosition, writeSnapshot } from './index-data/snapshot.js'
import { applyPlan } from './indexing/apply.js'
import { Progress } from './indexing/batch-monitor.js'
import { Pacer, type Stop, StoppedError } from './indexing/pacer.js'
import { planIndexes } from './indexing/plan.js'
import type { PreparedPlan } from './indexing/prepare.js'
import { Replayed } from './replayed.js'
import { DamagedFileError, isMissing } from './store/frames.js'
import { CommitLog, type LogPosition, MissingCommitError, type Replay } from './store/log.js'
import { embeddersOf } from './vector/index.js'

/** File names in the directory of an index. */
export const LOG_FILE = 'commits.log'
export const SNAPSHOT_FILE = 'built.snapshot'

/**
 * A new snapshot is written if opening would have to replay more than this many bytes of the log, and more than this
 * part of the snapshot's log. Replaying a megabyte takes about half a second.
 */
const TAIL_BYTES_MAX = 1024 * 1024
const TAIL_PART_MAX = 1 / 8

/** True if replaying the log after a snapshot takes long. @param tail @param snapshot bytes of the log */
const isLongTail = (tail: number, snapshot: number): boolean =>
  tail > TAIL_BYTES_MAX && tail > snapshot * TAIL_PART_MAX

/** A commit of an index, for threads that read the index too. */
export interface CommitPlace extends LogPosition {
  /** Replaying this commit of the log, or an earlier one, builds the whole index. */
  readonly builtAt: number
  /** Bytes of documents and vectors. */
  readonly bytes: number
}

/** Receives the faults of background work of an index. */
type ReportIndexFault = (kind: BackgroundFaultKind, file: string, error: unknown) => void

export class OpenIndex {
  readonly data: IndexData
  private commits: CommitLog
  /** The prepared batch, if any. */
  pending: { readonly ticket: number; readonly plan: PreparedPlan | null } | null = null
  /** Progress of the batch that is being prepared or committed. */
  readonly progress = new Progress()
  /** Bytes of the snapshot file. */
  snapshotBytes: number
  private readonly directory: string
  /** Log position of the snapshot; null without a usable snapshot. */
  private snapshotAt: LogPosition | null
  private builtAt = 0
  private writing: Promise<void> | null = null
  private adopting: Promise<void> = Promise.resolve()
  private readonly shared: Cache
  private versionCache: { readonly version: number; readonly cache: OwnedCache }
  /** Cancels the writing of a snapshot. */
  private readonly closing: Stop
  readonly report: ReportIndexFault

  constructor(
    directory: string,
    data: IndexData,
    log: CommitLog,
    snapshot: { readonly position: LogPosition; readonly bytes: number } | null,
    closing: Stop,
    report: ReportIndexFault,
    cache: Cache,
  ) {
    this.shared = cache
    this.directory = directory
    this.closing = closing
    this.report = report
    this.data = data
    this.commits = log
    this.snapshotAt = snapshot?.position ?? null
    this.snapshotBytes = snapshot?.bytes ?? 0
    this.versionCache = { version: data.version, cache: new OwnedCache(cache) }
  }

  get log(): CommitLog {
    return this.commits
  }

  /** The newest commit. */
  get place(): CommitPlace {
    let bytes = this.data.sourceBytes
    for (const set of this.data.vectors.values()) bytes += set.bytes
    return { ...this.commits.position, builtAt: this.builtAt, bytes }
  }

  /** Switches to a rewritten log, which has no snapshot yet. */
  replaceLog(log: CommitLog): void {
    this.commits = log
    this.snapshotAt = null
    this.builtAt = log.position.end
  }

  /**
   * Switches to the newest commit in the directory, which another process has written. Searches continue meanwhile. If
   * it rejects, the index is unchanged.
   * @param until the commit to switch to; absent: the newest
   */
  adopt(until?: LogPosition): Promise<void> {
    const earlier = this.adopting.catch(() => undefined)
    this.adopting = earlier.then(() => this.adoptNewest(until))
    return this.adopting
  }

  /**
   * Switches a copy to a commit that the writing thread has made. Searches continue meanwhile.
   * @returns false if the index must be opened again for that commit
   */
  async follow(place: CommitPlace): Promise<boolean> {
    const { end, check } = this.commits.position
    if (end === place.end && check === place.check) return true
    if (end < place.builtAt || isLongTail(place.end - end, end)) return false
    try {
      await this.adopt(place)
      return true
    } catch (error) {
      if (error instanceof MissingCommitError) return false
      throw error
    }
  }

  private async adoptNewest(until: LogPosition | undefined): Promise<void> {
    const before = this.commits
    const pacer = new Pacer(undefined, this.closing)
    const { log, isGrown, plan } = await adoptionOf(this.data, before, pacer, until)
    if (plan !== null) applyPlan(this.data, plan)
    const { builtAt } = this
    this.replaceLog(log)
    if (isGrown && plan?.indexes.rebuilt !== true) this.builtAt = builtAt
    await before.close()
    this.snapshotBytes = await fileBytes(join(this.directory, SNAPSHOT_FILE))
  }

  /** Cache of the current version. */
  get cache(): OwnedCache {
    const { version } = this.data
    if (this.versionCache.version !== version) {
      this.versionCache.cache.drop()
      this.versionCache = { version, cache: new OwnedCache(this.shared) }
    }
    return this.versionCache.cache
  }

  /**
   * Starts to write a snapshot if opening would otherwise take long. Runs in the background.
   * @param rebuilt true if replaying the end of the log rebuilds the whole index
   */
  snapshotIfDue(rebuilt: boolean): void {
    const { end } = this.log.position
    if (rebuilt) this.builtAt = end
    if (this.writing !== null) return
    const snapshotAt = this.snapshotAt?.end ?? 0
    if (!isLongTail(end - snapshotAt, snapshotAt) && !(rebuilt && end > TAIL_BYTES_MAX)) return
    this.writing = this.writeSnapshot().finally(() => {
      this.writing = null
    })
  }

  private async writeSnapshot(): Promise<void> {
    const { log } = this
    const snapshot: Snapshot = { position: log.position, built: builtOf(this.data) }
    const path = join(this.directory, SNAPSHOT_FILE)
    try {
      this.snapshotBytes = await writeSnapshot(path, snapshot, new Pacer(undefined, this.closing))
      if (log === this.log) this.snapshotAt = snapshot.position
    } catch (error) {
      // A snapshot only saves time on opening. The next large commit tries again.
      if (!(error instanceof StoppedError)) this.report('snapshot_write', path, error)
    }
  }

  /** Resolves once background writes have ended. */
  async settled(): Promise<void> {
    await this.writing
  }

  async close(): Promise<void> {
    this.versionCache.cache.drop()
    await this.settled()
    // The caller of `adopt` already got its error.
    await this.adopting.catch(() => undefined)
    await this.log.close()
  }
}

/** Options for opening an index. */
interface Opening {
  /** When aborted, opening soon fails, and background work ends. */
  readonly closing: Stop
  /** Receives faults of background work. */
  readonly report: ReportIndexFault
  /** Shared by all indexes. */
  readonly cache: Cache
  /** True if another process writes the files: this process then creates and changes none. */
  readonly followsFiles: boolean
  readonly installed: Dictionaries
  /** The commit to open; absent: the newest. Only for files that are written elsewhere. */
  readonly until?: LogPosition | undefined
}

/**
 * Returns true if opening an index at a commit takes little time: its snapshot is up to date, or the log is short.
 * @param directory of the index
 */
export async function opensFast(directory: string, { end, builtAt }: CommitPlace): Promise<boolean> {
  if (end <= TAIL_BYTES_MAX) return true
  const snapshot = await snapshotPosition(join(directory, SNAPSHOT_FILE))
  return (
    snapshot !== null &&
    snapshot.end <= end &&
    snapshot.end >= builtAt &&
    !isLongTail(end - snapshot.end, snapshot.end)
  )
}

/**
 * Opens the index in `directory`, which is created if missing.
 * @throws DamagedFileError
 * @throws MissingCommitError if the log does not have the commit `until`
 */
export async function openIndex(
  directory: string,
  { closing, report, cache, followsFiles, installed, until }: Opening,
): Promise<OpenIndex> {
  if (!followsFiles) {
    await makeDirectory(directory)
    await syncDirectory(join(directory, '..'))
  }
  const snapshot = await usableSnapshot(join(directory, SNAPSHOT_FILE))
  const replayed = new Replayed()
  const pacer = new Pacer(undefined, closing)
  const replay: Replay = async (commit, { end, check }) => {
    await replayed.apply(commit, pacer)
    if (snapshot !== null && end === snapshot.position.end && check === snapshot.position.check)
      replayed.mark()
  }
  const path = join(directory, LOG_FILE)
  const log = await (followsFiles ? CommitLog.follow(path, replay, until) : CommitLog.open(path, replay))
  try {
    // A writer starts with an empty log; elsewhere the log arrives with a commit.
    if (followsFiles && replayed.report === null) throw new DamagedFileError(path, 'it holds no commit')
    const used = replayed.marked === null ? null : snapshot
    const data =
      used === null || replayed.marked === null
        ? emptyIndex(replayed.settings ?? defaultIndexSettings, installed)
        : indexOf(used, replayed.marked, installed)
    const rebuilt = await catchUp(data, replayed, closing)
    for (const [language, id] of Object.entries(data.dictionaries))
      if (installed.ids[language] !== id)
        report('word_dictionary', directory, `its texts were cut with ${id}, which is not installed`)
    const open = new OpenIndex(directory, data, log, used, closing, report, cache)
    if (!followsFiles) open.snapshotIfDue(rebuilt)
    return open
  } catch (error) {
    await log.close()
    throw error
  }
}

/** Returns 0 if the file does not exist. */
async function fileBytes(path: string): Promise<number> {
  try {
    return (await stat(path)).size
  } catch (error) {
    if (isMissing(error)) return 0
    throw error
  }
}

/** Ignores a damaged snapshot; `verify` reports it. */
async function usableSnapshot(path: string): ReturnType<typeof readSnapshot> {
  try {
    return await readSnapshot(path)
  } catch (error) {
    if (error instanceof DamagedFileError) return null
    throw error
  }
}

/** Restores the index as of the snapshot. */
function indexOf(
  { built }: Snapshot,
  { documents, settings, dictionaries }: NonNullable<Replayed['marked']>,
  installed: Dictionaries,
): IndexData {
  const data = emptyIndex(settings, installed, dictionaries)
  for (const path of built.fieldPaths) fieldId(data, path)
  for (const [name, count] of built.fieldCounts) data.fieldCounts.set(name, count)
  for (const [path, count] of built.pathCounts) data.pathCounts.set(path, count)
  data.text = built.text
  data.analysis = built.analysis
  data.columns = built.columns
  putDocuments(data, documents)
  return data
}

function putDocuments(data: IndexData, documents: ReadonlyMap<number, StoredDocument>): void {
  const ascending = Uint32Array.from(documents.keys()).sort()
  data.alive = data.alive.resized((ascending.at(-1) ?? -1) + 1)
  for (const docid of ascending) {
    const document = documents.get(docid)!
    while (data.documents.length < docid) data.documents.push(undefined)
    data.documents.push(document)
    data.docids.set(document.id, docid)
    data.alive.add(docid)
    data.sourceBytes += document.source.length
  }
}

/** Brings `data` to the end of the log. @returns true if the whole index was rebuilt */
async function catchUp(data: IndexData, replayed: Replayed, closing: Stop): Promise<boolean> {
  const { report, primaryKey, dictionaries } = replayed
  if (report === null) return false
  const { reanalyses } = replayed
  const { cleared, changes } = replayed.changes
  const settings = replayed.settings ?? defaultIndexSettings
  const change = { settings, dictionaries, cleared, changes, reanalyses }
  const indexes = await planIndexes(data, change, new Pacer(undefined, closing))
  const vectors = replayed.vectors.result(embeddersOf(settings))
  applyPlan(data, {
    report,
    primaryKey,
    ...change,
    indexes,
    vectors,
    droppedEmbedders: [],
  })
  return indexes.rebuilt
}
