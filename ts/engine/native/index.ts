/** Adapter of the Rust engine: calls pass bytes, and failures that come back as values are thrown here. */

import { join } from 'node:path'
import { codes, type ErrorCode } from '../../errors/index.js'
import { CACHE_BYTES_MIN } from '../../launch/index.js'
import { defaultIndexSettings } from '../../settings/index.js'
import { BackgroundFaults } from '../background-faults.js'
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
import type {
  Answer,
  BareEngine,
  CacheFigures,
  Damage,
  Engine,
  IndexAnalysis,
  IndexedRequest,
  IndexSizes,
  IndexStats,
  Pin,
  Rescued,
  SettingCost,
  StopSignal,
} from '../engine.js'
import { EngineError } from '../engine-error.js'
import { guarding } from '../guarded.js'
import type { IndexId } from '../index-id.js'
import { newestFile } from '../newest-file.js'
import type { EngineSetup } from '../setup.js'
import { type EngineHandle, isBinding, type Reply, type Ticket } from './binding.js'
import { isSmallBatch } from './small-batch.js'

/** @param addon the module that `loadAddon` returned */
export async function openNative(addon: unknown, setup: EngineSetup): Promise<Engine> {
  if (!isBinding(addon)) throw new TypeError('the native module is not an engine of this version')
  const { directory, indexingMemoryBytes, indexingThreads, cacheBytes = CACHE_BYTES_MIN, log } = setup
  const { faults = new BackgroundFaults(log), followsFiles = false, dictionaries = [] } = setup
  const options = {
    directory,
    indexingMemoryBytes,
    indexingThreads,
    cacheBytes,
    followsFiles,
    dictionaries: [...dictionaries],
  }
  const handle = new addon.EngineHandle(options, faults.report)
  const engine = guarding(new NativeEngine(handle, directory), log, followsFiles)
  return { ...engine, publish: () => handle.publish(), warmUp: () => handle.warmUp() }
}

/** Searches and reads documents of an engine that another thread of this process opened; see `Engine.publish`. */
export type AttachedEngine = Pick<
  BareEngine,
  'search' | 'multiSearch' | 'facetSearch' | 'similar' | 'document'
>

/** @param addon the module that `loadAddon` returned @param number result of `publish` */
export function attachNative(addon: unknown, number: number): AttachedEngine {
  if (!isBinding(addon)) throw new TypeError('the native module is not an engine of this version')
  return new NativeEngine(addon.EngineHandle.attach(number), '')
}

/** Duplicates the descriptor of a socket, so that each thread can close its own. */
export function duplicateDescriptor(addon: unknown, descriptor: number): number {
  if (!isBinding(addon)) throw new TypeError('the native module is not an engine of this version')
  return addon.duplicateDescriptor(descriptor)
}

const isErrorCode = (code: string): code is ErrorCode => Object.hasOwn(codes, code)

/** Throws if the reply is a failure: a mistake of the caller as `EngineError`, a fault of ours as plain `Error`. */
async function succeeded(reply: Promise<Reply>): Promise<Reply> {
  const settled = await reply
  const { failure } = settled
  if (failure === undefined) return settled
  const { code, message } = failure
  if (code === 'internal' || !isErrorCode(code)) throw new Error(message)
  throw new EngineError(code, message)
}

const encoded = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value))

async function body(reply: Promise<Reply>): Promise<Uint8Array> {
  const { body: bytes } = await succeeded(reply)
  if (bytes === undefined) throw new Error('the native engine answered without a body')
  return bytes
}

async function bodyOrNull(reply: Promise<Reply>): Promise<Uint8Array | null> {
  return (await succeeded(reply)).body ?? null
}

const text = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()

/** The serialisers of the native engine write the shapes of `engine.ts`. */
async function decoded<T>(reply: Promise<Reply>): Promise<T> {
  return JSON.parse(text(await body(reply))) as T
}

async function decodedOrNull<T>(reply: Promise<Reply>): Promise<T | null> {
  const bytes = await bodyOrNull(reply)
  return bytes === null ? null : (JSON.parse(text(bytes)) as T)
}

async function answer(reply: Promise<Reply>): Promise<Answer> {
  const { body: bytes, facts } = await succeeded(reply)
  if (bytes === undefined || facts === undefined) throw new Error('the native engine returned no answer')
  const { timeAt, ...rest } = facts
  const answered = { body: bytes, facts: { ...rest, semanticHits: facts.semanticHits ?? null } }
  return timeAt === undefined ? answered : { ...answered, timeAt }
}

/** @param stored null if none were ever set */
const settingsText = (stored: Uint8Array | null): string =>
  stored === null ? JSON.stringify(defaultIndexSettings) : text(stored)

class NativeEngine implements BareEngine {
  readonly kind = 'native'
  private readonly handle: EngineHandle
  private closing: Promise<void> | null = null
  private lastTicket = 0
  /** Prepared batches that are small. */
  private readonly small = new WeakSet<Prepared>()

  private readonly directory: string

  constructor(handle: EngineHandle, directory: string) {
    this.handle = handle
    this.directory = directory
  }

  async inspect(payload: Payload): Promise<PayloadReport> {
    return decoded(this.handle.inspect(encoded(payload)))
  }

  async checkFilter(request: Uint8Array): Promise<void> {
    await succeeded(this.handle.checkFilter(request))
  }

  async prepare(index: IndexId, batch: Batch, stop?: StopSignal): Promise<Prepared> {
    const isSmall = await isSmallBatch(batch)
    const prepared = await this.stoppable(stop, (ticket) =>
      decoded<Omit<Prepared, 'index'>>(this.handle.prepare(index, encoded(batch), isSmall, ticket)),
    )
    const made = { index, ...prepared }
    if (isSmall) this.small.add(made)
    return made
  }

  async work(prepared: Prepared, from: string | null): Promise<WorkPage | null> {
    const { index, ticket } = prepared
    return decodedOrNull(this.handle.work(index, ticket, this.small.has(prepared), from ?? undefined))
  }

  async commit(prepared: Prepared, vectors: readonly VectorPage[]): Promise<BatchReport> {
    const { index, ticket } = prepared
    return decoded(this.handle.commit(index, ticket, this.small.has(prepared), vectors))
  }

  async progress(index: IndexId): Promise<readonly Step[] | null> {
    return decodedOrNull(this.handle.progress(index))
  }

  async abandon({ index, ticket }: Prepared): Promise<void> {
    await succeeded(this.handle.abandon(index, ticket))
  }

  async undo(index: IndexId, batchUids: readonly number[]): Promise<void> {
    await succeeded(this.handle.undo(index, batchUids))
  }

  async lastCommit(index: IndexId): Promise<BatchReport | null> {
    return decodedOrNull(this.handle.lastCommit(index))
  }

  async settings(index: IndexId): Promise<string> {
    return settingsText(await bodyOrNull(this.handle.settings(index)))
  }

  async settingsCost(index: IndexId, settings: string): Promise<Readonly<Record<string, SettingCost>>> {
    return decoded(this.handle.settingsCost(index, settings))
  }

  async search(index: IndexId, request: Uint8Array, stop?: StopSignal): Promise<Answer> {
    return this.stoppable(stop, (ticket) => answer(this.handle.search(index, request, ticket)))
  }

  async explain(index: IndexId, request: Uint8Array, stop?: StopSignal): Promise<Uint8Array | null> {
    return this.stoppable(stop, (ticket) => bodyOrNull(this.handle.explain(index, request, ticket)))
  }

  async multiSearch(
    requests: readonly IndexedRequest[],
    federation: Uint8Array | null,
    stop?: StopSignal,
  ): Promise<Answer> {
    return this.stoppable(stop, (ticket) =>
      answer(this.handle.multiSearch(requests, federation ?? undefined, ticket)),
    )
  }

  async facetSearch(index: IndexId, request: Uint8Array, stop?: StopSignal): Promise<Answer> {
    return this.stoppable(stop, (ticket) => answer(this.handle.facetSearch(index, request, ticket)))
  }

  async similar(index: IndexId, request: Uint8Array): Promise<Answer> {
    return answer(this.handle.similar(index, request))
  }

  async documents(index: IndexId, request: Uint8Array): Promise<Uint8Array> {
    return body(this.handle.documents(index, request))
  }

  async document(index: IndexId, request: Uint8Array): Promise<Uint8Array | null> {
    return bodyOrNull(this.handle.document(index, request))
  }

  async analysis(index: IndexId): Promise<IndexAnalysis> {
    return decoded(this.handle.analysis(index))
  }

  async stats(index: IndexId): Promise<IndexStats> {
    return decoded(this.handle.stats(index))
  }

  async sizes(index: IndexId): Promise<IndexSizes> {
    return decoded(this.handle.sizes(index))
  }

  async fields(index: IndexId): Promise<readonly string[]> {
    return decoded(this.handle.fields(index))
  }

  async pin(index: IndexId): Promise<Pin> {
    // The filter is applied to the pinned commit with each request.
    return { index, number: await decoded<number>(this.handle.pin(index)) }
  }

  async pinnedSettings({ number }: Pin): Promise<string> {
    return settingsText(await bodyOrNull(this.handle.pinnedSettings(number)))
  }

  async pinnedDocuments({ number }: Pin, request: Uint8Array): Promise<Uint8Array> {
    return body(this.handle.pinnedDocuments(number, request))
  }

  async snapshot({ number }: Pin, directory: string): Promise<void> {
    await succeeded(this.handle.copyPinned(number, directory))
  }

  async unpin({ number }: Pin): Promise<void> {
    await succeeded(this.handle.unpin(number))
  }

  async compact(index: IndexId, stop?: StopSignal): Promise<void> {
    await this.stoppable(stop, (ticket) => succeeded(this.handle.compact(index, ticket)))
  }

  newestCommitFile(index: IndexId): Promise<string | null> {
    return newestFile(join(this.directory, index), /^commit-\d+$/)
  }

  async verify(index: IndexId): Promise<readonly Damage[]> {
    return decoded(this.handle.verify(index))
  }

  async rescue(index: IndexId, path: string): Promise<Rescued> {
    const rescued = await decoded<Omit<Rescued, 'settings'> & { readonly settings: string | null }>(
      this.handle.rescue(index, path),
    )
    return { ...rescued, settings: rescued.settings ?? JSON.stringify(defaultIndexSettings) }
  }

  async adopt(index: IndexId): Promise<void> {
    await succeeded(this.handle.adopt(index))
  }

  async drop(index: IndexId): Promise<void> {
    await succeeded(this.handle.drop(index))
  }

  async list(): Promise<readonly IndexId[]> {
    return decoded(this.handle.list())
  }

  async cacheFigures(): Promise<CacheFigures> {
    return decoded(this.handle.cacheFigures())
  }

  /** Runs a call with a ticket, so that `stop` can end it. */
  private async stoppable<T>(
    stop: StopSignal | undefined,
    call: (ticket?: Ticket) => Promise<T>,
  ): Promise<T> {
    if (stop === undefined) return call()
    this.lastTicket = (this.lastTicket + 1) % 2 ** 32
    const number = this.lastTicket
    const giveUp = (): void => this.handle.stop(number)
    const reply = call({ number, isStopped: stop.aborted })
    stop.addEventListener('abort', giveUp)
    try {
      return await reply
    } finally {
      stop.removeEventListener('abort', giveUp)
    }
  }

  async close(): Promise<void> {
    this.closing ??= succeeded(this.handle.close()).then(() => undefined)
    await this.closing
  }
}
