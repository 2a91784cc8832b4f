/** Calls an engine as the server does, for tests: batches in, bytes out. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ExecutionContext } from 'ava'
import type {
  BatchReport,
  Operation,
  OperationOutcome,
  Payload,
  PayloadFormat,
} from '../../ts/engine/batches.js'
import { encodeRequest } from '../../ts/engine/encoding.js'
import type { BareEngine } from '../../ts/engine/engine.js'
import type { IndexId } from '../../ts/engine/index-id.js'
import type { DocumentRequest, DocumentsRequest, Paging, SearchRequest } from '../../ts/engine/requests.js'
import { defaultIndexSettings, type IndexSettings } from '../../ts/settings/index.js'

/** Opens an engine with a directory. */
export type OpenEngine = (directory: string) => Promise<BareEngine>

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }
export type Document = Readonly<Record<string, unknown>>

/** Settings as tests write them. Missing keys have their default, one level deep. */
export type PartialSettings = {
  readonly [K in keyof IndexSettings]?: IndexSettings[K] extends readonly unknown[] | string | boolean
    ? IndexSettings[K]
    : Partial<IndexSettings[K]> | IndexSettings[K]
}

function completeSettings(settings: PartialSettings): IndexSettings {
  const { typoTolerance, faceting } = settings
  return {
    ...defaultIndexSettings,
    ...settings,
    typoTolerance: { ...defaultIndexSettings.typoTolerance, ...typoTolerance },
    faceting: { ...defaultIndexSettings.faceting, ...faceting },
  } as IndexSettings
}

/** A search body as clients write it. */
export type SearchBody = Partial<Omit<SearchRequest, 'paging'>> & {
  readonly offset?: number
  readonly limit?: number
  readonly page?: number
  readonly hitsPerPage?: number
}

export function completeRequest(body: SearchBody): SearchRequest {
  const { offset = 0, limit = 20, page, hitsPerPage, ...rest } = body
  const paging: Paging =
    page === undefined && hitsPerPage === undefined
      ? { kind: 'offset', offset, limit }
      : { kind: 'page', page: page ?? 1, hitsPerPage: hitsPerPage ?? 20 }
  return {
    indexUid: 'things',
    q: null,
    paging,
    attributesToRetrieve: null,
    attributesToCrop: null,
    cropLength: 10,
    cropMarker: '…',
    attributesToHighlight: null,
    highlightPreTag: '<em>',
    highlightPostTag: '</em>',
    showMatchesPosition: false,
    filter: null,
    sort: null,
    distinct: null,
    facets: null,
    matchingStrategy: 'last',
    attributesToSearchOn: null,
    rankingScoreThreshold: null,
    locales: null,
    hybrid: null,
    vector: null,
    retrieveVectors: false,
    showRankingScore: false,
    showRankingScoreDetails: false,
    showPerformanceDetails: false,
    features: { containsFilter: false, legacySearch: false, multimodal: false, foreignKeys: false },
    requestUid: '01900000-0000-7000-8000-000000000000',
    metadata: null,
    pins: [],
    ...rest,
  }
}

export interface Hit {
  readonly [name: string]: unknown
}

export interface SearchAnswer {
  readonly hits: readonly Hit[]
  readonly query: string
  readonly estimatedTotalHits?: number
  readonly totalHits?: number
  readonly totalPages?: number
  readonly facetDistribution?: Readonly<Record<string, Readonly<Record<string, number>>>>
  readonly facetStats?: Json
}

const parsed = <T>(bytes: Uint8Array): T => JSON.parse(Buffer.from(bytes).toString()) as T

/** An operation without a task uid, which `TestEngine` assigns. */
export type Task = Operation extends infer O ? (O extends Operation ? Omit<O, 'taskUid'> : never) : never

/** An engine with a temporary directory, which is removed with it. */
export class TestEngine {
  engine: BareEngine
  readonly directory: string
  private readonly openEngine: OpenEngine
  private batches = 0
  private files = 0

  private constructor(engine: BareEngine, directory: string, openEngine: OpenEngine) {
    this.engine = engine
    this.directory = directory
    this.openEngine = openEngine
  }

  static async start(t: ExecutionContext, openEngine: OpenEngine): Promise<TestEngine> {
    const test = await TestEngine.open(openEngine)
    t.teardown(() => test.stop())
    return test
  }

  /** Opens an engine for several tests. The caller must stop it. */
  static async open(openEngine: OpenEngine): Promise<TestEngine> {
    const directory = await mkdtemp(join(tmpdir(), 'siftd-engine-'))
    return new TestEngine(await openEngine(join(directory, 'indexes')), directory, openEngine)
  }

  async stop(): Promise<void> {
    await this.engine.close()
    await rm(this.directory, { recursive: true, force: true })
  }

  /** Closes the engine and opens it again from disk. */
  async reopen(): Promise<void> {
    await this.engine.close()
    this.engine = await this.openEngine(join(this.directory, 'indexes'))
  }

  /** Writes a body to the spool. */
  async spool(body: string | Uint8Array, format: PayloadFormat, csvDelimiter?: string): Promise<Payload> {
    const path = join(this.directory, `body-${++this.files}`)
    await writeFile(path, body)
    return csvDelimiter === undefined ? { path, format } : { path, format, csvDelimiter }
  }

  /** Creates the task of an upload of `documents`. */
  async upload(
    documents: readonly Document[] | string,
    options: Partial<Omit<Task & { kind: 'documents' }, 'kind' | 'payload'>> = {},
  ): Promise<Task> {
    const body = typeof documents === 'string' ? documents : JSON.stringify(documents)
    return {
      kind: 'documents',
      method: 'replace',
      primaryKey: null,
      skipCreation: false,
      payload: await this.spool(body, 'json'),
      ...options,
    }
  }

  /** Copies the newest commit of an index into `directory`, which must not exist. */
  async snapshot(index: IndexId, directory: string): Promise<void> {
    const pin = await this.engine.pin(index)
    try {
      await this.engine.snapshot(pin, directory)
    } finally {
      await this.engine.unpin(pin)
    }
  }

  /** Runs tasks as one batch. */
  async apply(index: IndexId, ...tasks: readonly Task[]): Promise<BatchReport> {
    const uid = ++this.batches
    const operations = tasks.map((task, at) => ({ taskUid: uid * 100 + at, ...task }) as Operation)
    const prepared = await this.engine.prepare(index, { uid, indexUid: 'things', operations })
    return this.engine.commit(prepared, [])
  }

  /** Runs one task. @returns its outcome */
  async outcome(index: IndexId, task: Task): Promise<OperationOutcome> {
    return (await this.apply(index, task)).outcomes[0]!
  }

  /** Adds documents. */
  async put(index: IndexId, ...documents: readonly Document[]): Promise<OperationOutcome> {
    return this.outcome(index, await this.upload(documents))
  }

  async configure(index: IndexId, settings: PartialSettings): Promise<OperationOutcome> {
    return this.outcome(index, { kind: 'settings', settings: JSON.stringify(completeSettings(settings)) })
  }

  async searchText(index: IndexId, body: SearchBody): Promise<string> {
    const answer = await this.engine.search(index, encodeRequest(completeRequest(body)))
    return Buffer.from(answer.body).toString()
  }

  async search(index: IndexId, body: SearchBody): Promise<SearchAnswer> {
    return JSON.parse(await this.searchText(index, body)) as SearchAnswer
  }

  /** Returns the ids of the hits for `q`. */
  async idsFor(index: IndexId, q: string): Promise<unknown[]> {
    return (await this.search(index, { q })).hits.map(({ id }) => id)
  }

  async documentText(
    index: IndexId,
    id: string,
    options: Partial<DocumentRequest> = {},
  ): Promise<string | null> {
    const request = { id, fields: null, retrieveVectors: false, ...options }
    const bytes = await this.engine.document(index, encodeRequest(request))
    return bytes === null ? null : Buffer.from(bytes).toString()
  }

  async documents(
    index: IndexId,
    request: Partial<DocumentsRequest> = {},
  ): Promise<{ readonly results: readonly Hit[]; readonly total: number }> {
    return parsed(
      await this.engine.documents(
        index,
        encodeRequest({
          indexUid: 'things',
          offset: 0,
          limit: 20,
          fields: null,
          retrieveVectors: false,
          ids: null,
          filter: null,
          sort: null,
          features: { containsFilter: false, legacySearch: false, multimodal: false, foreignKeys: false },
          ...request,
        }),
      ),
    )
  }
}
