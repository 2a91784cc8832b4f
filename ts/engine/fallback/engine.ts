/**
 * The fallback engine, running on the calling thread. `worker/` runs it on a thread of its own.
 *
 * Each index has a directory below `directory` with one log. All searched data is in memory, read from the log when the
 * index is first used. Nothing is read ahead at a start, unlike in the native engine: an index fills ten times the bytes of its
 * documents, and reading it occupies the thread that answers searches of other indexes.
 */
import { randomInt } from 'node:crypto'
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { CACHE_BYTES_MIN } from '../../launch/index.js'
import { parsedSettings } from '../../settings/index.js'
import { type BackgroundFaultKind, type ReportFault, reasonOf } from '../background-faults.js'
import type {
  Batch,
  BatchReport,
  Payload,
  PayloadReport,
  Prepared,
  Step,
  VectorPage,
  WorkPage,
} from '../batches.js'
import { decodeRequest } from '../encoding.js'
import type {
  Answer,
  BareEngine,
  CacheFigures,
  Damage,
  IndexAnalysis,
  IndexedRequest,
  IndexSizes,
  IndexStats,
  Pin,
  Rescued,
  SettingCost,
} from '../engine.js'
import { EngineError } from '../engine-error.js'
import { type IndexId, requireIndexId } from '../index-id.js'
import { makeDirectory } from '../make-directory.js'
import { newestFile } from '../newest-file.js'
import type {
  DocumentRequest,
  DocumentsRequest,
  ExplainRequest,
  FacetSearchRequest,
  FederationRequest,
  FilterCheck,
  SearchRequest,
  SimilarRequest,
} from '../requests.js'
import { syncDirectory } from '../sync-directory.js'
import { analysisVersion } from './analysis/version.js'
import { Dictionaries } from './analysis/words/index.js'
import { Cache } from './cache.js'
import { isInReserved } from './fields/rules.js'
import { FilterError, parseFilter, requireOwn } from './filter/index.js'
import type { IndexData } from './index-data/index-data.js'
import { snapshotAnalysis } from './index-data/snapshot.js'
import { commitOf, rewriteIfDue, rewriteLog } from './index-log.js'
import { sizesOf, statsOf } from './index-stats.js'
import { applyPlan } from './indexing/apply.js'
import { costsOf } from './indexing/cost.js'
import { Pacer } from './indexing/pacer.js'
import { inspectPayload } from './indexing/payload.js'
import { type PreparedPlan, planBatch } from './indexing/prepare.js'
import { type CommitPlace, LOG_FILE, type OpenIndex, openIndex, SNAPSHOT_FILE } from './open-index.js'
import { PinnedIndex } from './pinned.js'
import { rescueIndex } from './rescue.js'
import { AnswerBytes } from './search/answer-bytes.js'
import { checkStop, type Stop } from './search/bounds.js'
import type { FilterContext } from './search/candidates.js'
import { listDocuments, oneDocument } from './search/documents.js'
import { explain } from './search/explain.js'
import { facetSearch } from './search/facet-search.js'
import { type FederatedQuery, federatedSearch } from './search/federation/index.js'
import { multiSearch } from './search/multi-search.js'
import { search } from './search/search.js'
import { similar } from './search/similar.js'
import { DamagedFileError, isMissing } from './store/frames.js'
import { CommitLog, type LogPosition } from './store/log.js'
import { compareUtf8 } from './store/text-order.js'
import { damagesIn } from './verify.js'

/** Exclusive upper bound of pin numbers. */
const PIN_NUMBERS = 2 ** 32

export interface FallbackOptions {
  /** Directory that holds the index directories; created if missing. */
  readonly directory: string
  /** Index id → batches whose commits failed in an earlier thread. Reverted before the index is opened. */
  readonly failedCommits?: ReadonlyMap<IndexId, readonly number[]>
  /** See `EngineSetup`. */
  readonly cacheBytes?: number | undefined
  /** See `EngineSetup`. */
  readonly followsFiles?: boolean | undefined
  /** See `EngineSetup`. */
  readonly dictionaries?: readonly string[] | undefined
  /** True for a thread that only searches, in copies of the indexes; see `CopyEngine`. */
  readonly isCopy?: boolean | undefined
}

/** A request that may follow foreign keys. */
type Joining = Pick<SearchRequest, 'foreignKeys'>

export class LocalEngine implements BareEngine {
  readonly kind = 'fallback'
  private readonly directory: string
  private readonly failedCommits: ReadonlyMap<IndexId, readonly number[]>
  private readonly report: ReportFault
  protected readonly indexes = new Map<IndexId, Promise<OpenIndex>>()
  private readonly pins = new Map<number, PinnedIndex>()
  private readonly cache: Cache
  private readonly followsFiles: boolean
  private readonly dictionaries: Dictionaries
  private tickets = 0
  /** Cancels background work and the opening of indexes. */
  private readonly closing = { aborted: false }

  protected constructor(
    {
      directory,
      failedCommits = new Map(),
      cacheBytes = CACHE_BYTES_MIN,
      followsFiles = false,
      dictionaries = [],
    }: FallbackOptions,
    report: ReportFault,
  ) {
    this.followsFiles = followsFiles
    this.dictionaries = Dictionaries.of(dictionaries)
    this.directory = directory
    this.cache = new Cache(cacheBytes)
    this.report = report
    this.failedCommits = failedCommits
  }

  /** @param report receives the faults of background work */
  static async open(options: FallbackOptions, report: ReportFault): Promise<LocalEngine> {
    await makeDirectory(options.directory)
    return new LocalEngine(options, report)
  }

  protected path(index: IndexId): string {
    return join(this.directory, requireIndexId(index))
  }

  // ——— opening ———

  /** @param until see `openIndex` */
  protected opened(index: IndexId, until?: LogPosition): Promise<OpenIndex> {
    let opening = this.indexes.get(index)
    if (opening === undefined) {
      opening = this.open(index, until)
      this.indexes.set(index, opening)
      opening.catch(() => this.indexes.delete(index))
    }
    return opening
  }

  private async open(index: IndexId, until?: LogPosition): Promise<OpenIndex> {
    const failed = this.failedCommits.get(index)
    if (failed !== undefined) await this.revertCommits(index, failed)
    const report = (kind: BackgroundFaultKind, file: string, error: unknown): void =>
      this.report({ kind, index, file, reason: reasonOf(error) })
    const { closing, cache, followsFiles, dictionaries: installed } = this
    return openIndex(this.path(index), { closing, report, cache, followsFiles, installed, until })
  }

  private revertCommits(index: IndexId, batchUids: readonly number[]): Promise<void> {
    const log = join(this.path(index), LOG_FILE)
    return CommitLog.undo(log, ({ report }) => batchUids.includes(report.batchUid))
  }

  /** @throws DamagedFileError if the directory does not exist: reading must not create it */
  protected async existing(index: IndexId): Promise<OpenIndex> {
    if (!this.indexes.has(index) && !(await isDirectory(this.path(index))))
      throw new DamagedFileError(this.path(index), 'there is no such directory')
    return this.opened(index)
  }

  // ——— writing ———

  inspect(payload: Payload): Promise<PayloadReport> {
    const pacer = new Pacer()
    return inspectPayload(payload, async () => {
      if (pacer.due()) await pacer.pause()
    })
  }

  async checkFilter(request: Uint8Array): Promise<void> {
    const { filter, features } = decodeRequest<FilterCheck>(request)
    try {
      requireOwn(parseFilter(filter, features))
    } catch (error) {
      if (error instanceof FilterError)
        throw new EngineError(error.code('invalid_search_filter'), error.message)
      throw error
    }
  }

  async prepare(index: IndexId, batch: Batch, stop?: Stop): Promise<Prepared> {
    await makeDirectory(this.path(index))
    const open = await this.opened(index)
    if (open.pending !== null) throw new Error(`index ${index} has a prepared batch already`)
    const ticket = ++this.tickets
    open.pending = { ticket, plan: null }
    try {
      // A batch committed before a crash is submitted again: its report is in the log.
      const repeated = open.data.report?.batchUid === batch.uid
      if (repeated) return { index, ticket, work: 0 }
      const plan = await planBatch(open.data, batch, new Pacer(open.progress, stop))
      open.pending = { ticket, plan }
      return { index, ticket, work: plan.work.size }
    } catch (error) {
      open.pending = null
      throw error
    } finally {
      open.progress.end()
    }
  }

  async work(prepared: Prepared, from: string | null): Promise<WorkPage | null> {
    const { pending } = await this.existing(prepared.index)
    return pending?.ticket === prepared.ticket ? (pending.plan?.work.page(from) ?? null) : null
  }

  async commit(prepared: Prepared, vectors: readonly VectorPage[]): Promise<BatchReport> {
    const open = await this.existing(prepared.index)
    const plan = this.take(open, prepared)
    if (plan === null) return open.data.report!
    for (const page of vectors) plan.addEmbeddings(page)
    open.progress.begin({ currentStep: 'committing', finished: 0, total: 1 }, 0)
    try {
      await open.log.append(commitOf(plan))
      applyPlan(open.data, plan)
      await rewriteIfDue(open)
    } finally {
      open.progress.end()
    }
    open.snapshotIfDue(plan.indexes.rebuilt)
    return plan.report
  }

  async progress(index: IndexId): Promise<readonly Step[] | null> {
    const opening = this.indexes.get(index)
    return opening === undefined ? null : (await opening).progress.steps
  }

  async abandon(prepared: Prepared): Promise<void> {
    const open = await this.existing(prepared.index)
    if (open.pending?.ticket === prepared.ticket) open.pending = null
  }

  private take(open: OpenIndex, { index, ticket }: Prepared): PreparedPlan | null {
    if (open.pending?.ticket !== ticket) throw new Error(`index ${index} has no prepared batch ${ticket}`)
    const { plan } = open.pending
    open.pending = null
    return plan
  }

  async undo(index: IndexId, batchUids: readonly number[]): Promise<void> {
    await this.closeIndex(index)
    await this.revertCommits(index, batchUids)
  }

  async lastCommit(index: IndexId): Promise<BatchReport | null> {
    return (await isDirectory(this.path(index))) ? (await this.opened(index)).data.report : null
  }

  async settings(index: IndexId): Promise<string> {
    return JSON.stringify((await this.existing(index)).data.settings)
  }

  async settingsCost(index: IndexId, settings: string): Promise<Readonly<Record<string, SettingCost>>> {
    return costsOf((await this.existing(index)).data.settings, parsedSettings(settings))
  }

  // ——— reading ———

  /** Adds the indexes that foreign keys refer to. All requests share one budget of selected foreign documents. */
  private async joined<R extends Joining>(
    requests: readonly R[],
  ): Promise<(R & Pick<FilterContext, 'foreign'>)[]> {
    const data = new Map<IndexId, IndexData>()
    for (const { access } of requests.flatMap(({ foreignKeys }) => foreignKeys ?? []))
      if (access.kind === 'granted') data.set(access.index, (await this.existing(access.index)).data)
    const foreign = { data, selected: new Map() }
    return requests.map((request) => ({ ...request, foreign }))
  }

  /** Like `joined`, with a separate budget for each request. */
  private async joinedSeparately<R extends Joining>(
    requests: readonly R[],
  ): Promise<(R & Pick<FilterContext, 'foreign'>)[]> {
    return (await Promise.all(requests.map((request) => this.joined([request])))).flat()
  }

  async search(index: IndexId, request: Uint8Array, stop?: Stop): Promise<Answer> {
    const out = new AnswerBytes()
    const [decoded] = await this.joined([stoppable(request, stop)])
    const { facts, timeAt } = search(await this.existing(index), decoded!, out)
    return { body: out.finish(), facts, timeAt }
  }

  async explain(index: IndexId, request: Uint8Array, stop?: Stop): Promise<Uint8Array | null> {
    const { search: decoded, ...about } = decodeRequest<ExplainRequest>(request)
    const [joined] = await this.joined([{ ...decoded, ...(stop !== undefined && { stop }) }])
    const facts = explain(await this.existing(index), joined!, about)
    return facts === null ? null : Buffer.from(facts)
  }

  async multiSearch(
    requests: readonly IndexedRequest[],
    federation: Uint8Array | null,
    stop?: Stop,
  ): Promise<Answer> {
    const decoded = requests.map(({ request }) => stoppable(request, stop))
    const joined = federation === null ? await this.joinedSeparately(decoded) : await this.joined(decoded)
    const queries: FederatedQuery[] = []
    for (const [at, { index }] of requests.entries())
      queries.push({ index: await this.existing(index), request: joined[at]! })
    if (federation === null) return multiSearch(queries, stop)
    const { json, facts } = await federatedSearch(queries, decodeRequest<FederationRequest>(federation), stop)
    return { body: Buffer.from(json), facts }
  }

  async facetSearch(index: IndexId, request: Uint8Array, stop?: Stop): Promise<Answer> {
    const [decoded] = await this.joined([stoppable<FacetSearchRequest>(request, stop)])
    const { json, facts } = facetSearch(await this.existing(index), decoded!)
    return { body: Buffer.from(json), facts }
  }

  async similar(index: IndexId, request: Uint8Array, stop?: Stop): Promise<Answer> {
    const [decoded] = await this.joined([stoppable<SimilarRequest>(request, stop)])
    const { json, facts } = similar(await this.existing(index), decoded!)
    return { body: Buffer.from(json), facts }
  }

  async documents(index: IndexId, request: Uint8Array, stop?: Stop): Promise<Uint8Array> {
    const [decoded] = await this.joined([stoppable<DocumentsRequest>(request, stop)])
    return listDocuments(await this.existing(index), decoded!)
  }

  async document(index: IndexId, request: Uint8Array): Promise<Uint8Array | null> {
    const json = oneDocument(await this.existing(index), decodeRequest<DocumentRequest>(request))
    return json === null ? null : Buffer.from(json)
  }

  async analysis(index: IndexId): Promise<IndexAnalysis> {
    const open = this.indexes.get(index)
    // Opening an index reads all its documents into memory.
    if (open === undefined && !(await isDirectory(this.path(index)))) await this.existing(index)
    const analysis =
      open === undefined
        ? await snapshotAnalysis(join(this.path(index), SNAPSHOT_FILE))
        : (await open).data.analysis
    return { index: analysis ?? analysisVersion, engine: analysisVersion }
  }

  async stats(index: IndexId): Promise<IndexStats> {
    return statsOf(await this.existing(index))
  }

  async sizes(index: IndexId): Promise<IndexSizes> {
    return sizesOf(await this.existing(index))
  }

  async fields(index: IndexId): Promise<readonly string[]> {
    const { data } = await this.existing(index)
    const fields = [...data.pathCounts.keys()].filter((path) => path !== '_vectors' && !isInReserved(path))
    return fields.sort(compareUtf8)
  }

  // ——— the directory ———

  async pin(index: IndexId, listing?: Uint8Array): Promise<Pin> {
    const pinned = await PinnedIndex.of(await this.existing(index), this.path(index), listing)
    // Random, so that a pin of an ended thread is not valid in the next thread.
    const number = randomInt(PIN_NUMBERS)
    this.pins.set(number, pinned)
    return { index, number }
  }

  private pinned({ index, number }: Pin): PinnedIndex {
    const pinned = this.pins.get(number)
    if (pinned === undefined) throw new Error(`pin ${number} of index ${index} is not held`)
    return pinned
  }

  async pinnedSettings(pin: Pin): Promise<string> {
    return this.pinned(pin).settings
  }

  async pinnedDocuments(pin: Pin, request: Uint8Array): Promise<Uint8Array> {
    return this.pinned(pin).documents(request)
  }

  async snapshot(pin: Pin, directory: string): Promise<void> {
    await this.pinned(pin).copyTo(directory)
  }

  async unpin({ number }: Pin): Promise<void> {
    const pinned = this.pins.get(number)
    this.pins.delete(number)
    await pinned?.close()
  }

  async compact(index: IndexId, stop?: Stop): Promise<void> {
    const open = await this.existing(index)
    await open.settled()
    checkStop(stop)
    await rewriteLog(open)
    open.snapshotIfDue(true)
    await open.settled()
  }

  newestCommitFile(index: IndexId): Promise<string | null> {
    return newestFile(this.path(index), /^commits\.log$/)
  }

  verify(index: IndexId): Promise<readonly Damage[]> {
    return damagesIn(this.path(index))
  }

  rescue(index: IndexId, path: string): Promise<Rescued> {
    return rescueIndex(this.path(index), path)
  }

  protected async closeIndex(index: IndexId): Promise<void> {
    const opening = this.indexes.get(index)
    this.indexes.delete(index)
    // Nothing to close if opening failed. The caller of `open` got the error.
    const open = await opening?.catch(() => null)
    await open?.close()
  }

  /** The newest commit, for copies of the index in other threads. */
  async newestCommit(index: IndexId): Promise<CommitPlace> {
    return (await this.existing(index)).place
  }

  async adopt(index: IndexId): Promise<void> {
    const opening = this.indexes.get(index)
    // An index that failed to open is opened again at its next use.
    const open = await opening?.catch(() => null)
    if (this.indexes.get(index) === opening) await open?.adopt()
  }

  async drop(index: IndexId): Promise<void> {
    await this.closeIndex(index)
    await rm(this.path(index), { recursive: true, force: true })
    await syncDirectory(this.directory)
  }

  async list(): Promise<readonly IndexId[]> {
    const entries = await readdir(this.directory, { withFileTypes: true })
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
  }

  async cacheFigures(): Promise<CacheFigures> {
    return this.cache.figures()
  }

  async close(): Promise<void> {
    this.closing.aborted = true
    const opening = [...this.indexes.values()]
    this.indexes.clear()
    for (const index of await Promise.allSettled(opening))
      if (index.status === 'fulfilled') await index.value.close()
  }
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory()
  } catch (error) {
    // Any other error does not prove that the index is missing.
    if (isMissing(error)) return false
    throw error
  }
}

const stoppable = <R extends object = SearchRequest>(
  request: Uint8Array,
  stop: Stop | undefined,
): R & { readonly stop?: Stop } => ({
  ...decodeRequest<R>(request),
  ...(stop !== undefined && { stop }),
})
