import { copyFile, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type Batch,
  type BatchReport,
  type Engine,
  EngineError,
  type IndexStats,
  type OperationOutcome,
  type Payload,
  type Prepared,
} from '../../ts/engine/index.js'
import { defaultIndexSettings, type IndexSettings, parsedSettings } from '../../ts/settings/index.js'

/** An index of the fake engine: one JSON file that each commit replaces. */
export interface FakeIndex {
  readonly primaryKey: string | null
  readonly settings: IndexSettings
  /** Document id → its value, and how often it was written. */
  readonly documents: Readonly<Record<string, { readonly value: Document; readonly writes: number }>>
  readonly lastCommit: BatchReport | null
}

type Document = Readonly<Record<string, unknown>>

/** Functions of a test that the engine calls and awaits. They may throw. */
export interface Hooks {
  prepare?: (batch: Batch) => Promise<void> | void
  /** Called before the commit is written. */
  commit?: (batch: Batch) => Promise<void> | void
  /** Called after the commit is durable, before the engine returns. */
  committed?: (batch: Batch) => Promise<void> | void
  /** Called before a batch is abandoned. */
  abandon?: () => Promise<void> | void
  /** Called when a commit is unpinned. */
  unpin?: () => void
}

/**
 * A small engine with the guarantees that the queue needs: one durable commit per batch with its report, failures of
 * single tasks in a batch, and no visible changes before the commit.
 */
export interface FakeEngine extends Engine {
  readonly hooks: Hooks
  /** Batches committed so far in this process. */
  readonly commits: Batch[]
  read(index: string): Promise<FakeIndex>
}

export const emptyIndex: FakeIndex = {
  primaryKey: null,
  settings: defaultIndexSettings,
  documents: {},
  lastCommit: null,
}

export const unsupported = () => Promise.reject(new Error('the fake engine does not search'))

export async function openFake(directory: string, hooks: Hooks = {}): Promise<FakeEngine> {
  await mkdir(directory, { recursive: true })
  const prepared = new Map<
    number,
    { readonly batch: Batch; readonly next: FakeIndex; readonly report: BatchReport }
  >()
  const commits: Batch[] = []
  const sizes = { rawDocumentDbSize: 0, indexSize: 1536 }
  let ticket = 0
  const fileOf = (index: string) => join(directory, index, 'index.json')

  const read = async (index: string): Promise<FakeIndex> => {
    try {
      return JSON.parse(await readFile(fileOf(index), 'utf8')) as FakeIndex
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return emptyIndex
      throw error
    }
  }

  return {
    kind: 'fallback',
    damage: () => null,
    condemn: () => undefined,
    expect: () => undefined,
    revision: () => 0,
    isTrusted: () => true,
    onChange: () => undefined,
    foreignKeys: async () => [],
    adopt: unsupported,
    cacheFigures: unsupported,
    hooks,
    commits,
    read,
    async prepare(index, batch): Promise<Prepared> {
      await mkdir(join(directory, index), { recursive: true })
      await hooks.prepare?.(batch)
      const [next, outcomes] = await applied(await read(index), batch, textOf)
      const report: BatchReport = {
        batchUid: batch.uid,
        outcomes,
        primaryKey: next.primaryKey,
        documents: Object.keys(next.documents).length,
      }
      prepared.set(++ticket, { batch, next: { ...next, lastCommit: report }, report })
      return { index, ticket, work: 0 }
    },
    work: () => Promise.resolve(null),
    async commit({ index, ticket: own }) {
      const work = prepared.get(own)
      if (work === undefined) throw new Error('no such prepared batch')
      prepared.delete(own)
      await hooks.commit?.(work.batch)
      const handle = await open(`${fileOf(index)}.new`, 'w')
      await handle.writeFile(JSON.stringify(work.next))
      await handle.sync()
      await handle.close()
      await copyFile(fileOf(index), `${fileOf(index)}.before`).catch(() => undefined)
      await rename(`${fileOf(index)}.new`, fileOf(index))
      await hooks.committed?.(work.batch)
      commits.push(work.batch)
      return work.report
    },
    progress: () => Promise.resolve(null),
    async abandon({ ticket: own }) {
      await hooks.abandon?.()
      prepared.delete(own)
    },
    async undo(index, batchUids) {
      const { lastCommit } = await read(index)
      if (lastCommit === null || !batchUids.includes(lastCommit.batchUid)) return
      await rename(`${fileOf(index)}.before`, fileOf(index))
    },
    lastCommit: async (index) => (await read(index)).lastCommit,
    settings: async (index) => JSON.stringify((await read(index)).settings),
    analysis: async () => ({ index: {}, engine: {} }),
    async stats(index): Promise<IndexStats> {
      const numberOfDocuments = Object.keys((await read(index)).documents).length
      return {
        numberOfDocuments,
        ...sizes,
        numberOfEmbeddings: 0,
        numberOfEmbeddedDocuments: 0,
        fieldDistribution: {},
        wordDictionaries: {},
      }
    },
    sizes: () => Promise.resolve(sizes),
    async list() {
      const entries = await readdir(directory, { withFileTypes: true })
      return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
    },
    drop: (index) => rm(join(directory, index), { recursive: true, force: true }),
    close: () => Promise.resolve(),
    inspect: unsupported,
    checkFilter: unsupported,
    search: unsupported,
    multiSearch: unsupported,
    explain: unsupported,
    facetSearch: unsupported,
    similar: unsupported,
    // Reports how often each document was written, so that a repeated batch is detected.
    async documents(index) {
      const documents = Object.values((await read(index)).documents)
      const results = documents.map(({ value, writes }) => ({ ...value, writes }))
      return Buffer.from(JSON.stringify({ results, offset: 0, limit: results.length, total: results.length }))
    },
    document: unsupported,
    fields: unsupported,
    pin: async (index) => ({ index, number: 0 }),
    settingsCost: unsupported,
    pinnedSettings: unsupported,
    pinnedDocuments: unsupported,
    snapshot: unsupported,
    unpin: async () => hooks.unpin?.(),
    compact: unsupported,
    newestCommitFile: async () => null,
    verify: unsupported,
    rescue: unsupported,
  }
}

const textOf = async (payload: Payload): Promise<string> =>
  'text' in payload ? payload.text : readFile(payload.path, 'utf8')

/** Applies a batch to an index. @returns the index and the outcomes @param read returns the text of a payload */
export async function applied(
  index: FakeIndex,
  batch: Batch,
  read: (payload: Payload) => Promise<string> | string,
): Promise<[FakeIndex, OperationOutcome[]]> {
  let state = index
  const outcomes: OperationOutcome[] = []
  for (const operation of batch.operations) {
    const { taskUid } = operation
    try {
      switch (operation.kind) {
        case 'documents': {
          const received = JSON.parse(await read(operation.payload)) as Document[]
          const [next, ids] = withDocuments(state, received, operation.primaryKey)
          state = next
          outcomes.push({ taskUid, touched: true, indexedDocuments: ids })
          break
        }
        case 'deleteByIds': {
          const [next, removed] = without(state, (id) => operation.ids.includes(id))
          state = next
          outcomes.push({ taskUid, touched: removed > 0, deletedDocuments: removed })
          break
        }
        case 'deleteByFilter': {
          if (state.settings.filterableAttributes.length === 0) {
            throw new EngineError('invalid_document_filter', `nothing is filterable: ${operation.filter}`)
          }
          const [next, removed] = without(state, (id) => operation.filter === `id = ${id}`)
          state = next
          outcomes.push({ taskUid, touched: removed > 0, deletedDocuments: removed })
          break
        }
        case 'clear': {
          const [next, removed] = without(state, () => true)
          state = next
          outcomes.push({ taskUid, touched: true, deletedDocuments: removed })
          break
        }
        case 'settings': {
          const settings = parsedSettings(operation.settings)
          if (settings.filterableAttributes.includes('_geo') && hasInvalidGeo(state)) {
            throw new EngineError('invalid_document_geo_field', 'a document has an invalid `_geo`')
          }
          state = { ...state, settings }
          outcomes.push({ taskUid, touched: true })
          break
        }
        case 'primaryKey': {
          const wanted = operation.primaryKey ?? state.primaryKey
          if (wanted !== state.primaryKey && Object.keys(state.documents).length > 0) {
            throw new EngineError(
              'index_primary_key_already_exists',
              `the primary key is ${state.primaryKey}`,
            )
          }
          state = { ...state, primaryKey: wanted }
          outcomes.push({ taskUid, touched: operation.primaryKey !== null })
        }
      }
    } catch (error) {
      if (!(error instanceof EngineError)) throw error
      outcomes.push({ taskUid, touched: false, error: { code: error.code, message: error.message } })
    }
  }
  return [state, outcomes]
}

const hasInvalidGeo = ({ documents }: FakeIndex): boolean =>
  Object.values(documents).some(({ value }) => value._geo === 'nowhere')

function withDocuments(
  state: FakeIndex,
  received: readonly Document[],
  named: string | null,
): [FakeIndex, number] {
  if (named !== null && state.primaryKey !== null && named !== state.primaryKey) {
    throw new EngineError('index_primary_key_already_exists', `the primary key is ${state.primaryKey}`)
  }
  const primaryKey = state.primaryKey ?? named ?? (received.length > 0 ? 'id' : null)
  const documents = { ...state.documents }
  const ids = new Set<string>()
  for (const value of received) {
    const id = primaryKey === null ? undefined : value[primaryKey]
    if (id === undefined) throw new EngineError('missing_document_id', `a document lacks \`${primaryKey}\``)
    const key = String(id)
    ids.add(key)
    documents[key] = { value, writes: (documents[key]?.writes ?? 0) + 1 }
  }
  return [{ ...state, primaryKey, documents }, ids.size]
}

function without(state: FakeIndex, isGone: (id: string) => boolean): [FakeIndex, number] {
  const left = Object.entries(state.documents).filter(([id]) => !isGone(id))
  const removed = Object.keys(state.documents).length - left.length
  return [{ ...state, documents: Object.fromEntries(left) }, removed]
}
