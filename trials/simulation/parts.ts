import { applied, emptyIndex, type FakeIndex, unsupported } from '../../__test__/tasks/fake-engine.js'
import {
  type Batch,
  type BatchReport,
  type Engine,
  EngineError,
  type Payload,
} from '../../ts/engine/index.js'
import { GroupCommit } from '../../ts/sqlite/group-commit.js'
import { isBehind } from '../../ts/sqlite/mark.js'
import { PendingRequests } from '../../ts/sqlite/pending-requests.js'
import type { Quarantine } from '../../ts/tasks/recovery/orphans.js'
import { HeldFiles, type Spool } from '../../ts/tasks/spool.js'
import { type Request, type StoreCalls, storeRules, writingCalls } from '../../ts/tasks/store/records.js'
import { Store } from '../../ts/tasks/store/store.js'
import { failureOf, fileCalls, type StoreClient } from '../../ts/tasks/store/store-client.js'
import type { EngineFiles, Files } from './files.js'
import type { Machine } from './machine.js'
import type { Life, World } from './world.js'

/** The thread of the store. Requests queue up until it takes them all at once. Answers are delivered together. */
export function storeClient(
  world: World,
  life: Life,
  { disk, files }: Machine,
  keepsChanges: boolean,
  recorded: () => void,
): StoreClient {
  const store = new Store(disk, {
    isCompared: true,
    identity: disk.mark?.identity ?? null,
    reached: (sequence) => {
      disk.mark = { identity: store.identity, sequence }
    },
    settle: () => undefined,
    copying: disk.copying,
    keepsChanges,
    clock: () => world.now(),
  })
  if (disk.mark !== null && isBehind(store.sequence, disk.mark.sequence))
    world.problem(`the store ends at transaction ${store.sequence}, its mark says ${disk.mark.sequence}`)
  const groupCommit = new GroupCommit({
    ...{ store, rules: storeRules, reserve: disk.reserve, ordinaryBytesMax: 4e11 },
    removeFile: (path) => files.delete(path),
  })
  let inbox: Request[] = []
  let closed: (() => void) | null = null
  const exchange = new PendingRequests<StoreCalls>((request) => {
    inbox.push(request)
    if (inbox.length === 1) world.later(life, `store ${request.call}`, serve)
  }, failureOf)
  function serve(): void {
    const requests = inbox
    inbox = []
    const replies = groupCommit.execute(requests)
    if (requests.some(({ call }) => writingCalls[call] !== undefined)) recorded()
    outbox.push(() => exchange.receive(replies))
    if (outbox.length === 1) world.later(life, 'store answers', answer)
  }
  const outbox: (() => void)[] = []
  function answer(): void {
    outbox.shift()?.()
    if (outbox.length > 0) world.later(life, 'store answers', answer)
    else if (inbox.length === 0) closed?.()
  }
  return {
    driver: 'libsql',
    reasons: [],
    uncheckedReason: null,
    call: exchange.call,
    ...fileCalls(exchange.call, async () => undefined),
    close: () =>
      new Promise((resolve) => {
        closed = resolve
        if (outbox.length === 0 && inbox.length === 0) resolve()
      }),
  }
}

export function spool(world: World, life: Life, files: Files): Spool {
  const held = new HeldFiles()
  const remove = async (name: string) => {
    await world.point(life, 'spool remove')
    if (held.isFree(name)) files.delete(name)
  }
  return {
    pathOf: (name) => name,
    check: async () => undefined,
    slot(format) {
      const path = `${'0'.repeat(27)}${100_000_000 + world.below(9e8)}.${format}`
      return {
        path,
        sync: () => world.point(life, 'spool sync'),
        discard: async () => void files.delete(path),
      }
    },
    remove,
    isHeld: (name) => held.has(name),
    hold(names) {
      held.hold(names)
      return async () => {
        for (const name of held.release(names)) await remove(name)
      }
    },
    async orphans() {
      throw new Error('the store is complete')
    },
    async removeOrphans(names) {
      await world.point(life, 'spool orphans')
      const orphans = [...files.keys()].filter((name) => !names.has(name))
      for (const name of orphans) files.delete(name)
      return orphans.length
    },
    bytes: async () => 0,
  }
}

/** A quarantine. Reports directories that have ever been in the catalogue, as they must not be moved here. */
export function quarantine(
  world: World,
  life: Life,
  written: EngineFiles,
  wasNamed: (id: string) => boolean,
): Quarantine {
  return {
    async index(id) {
      await world.point(life, 'set aside')
      if (wasNamed(id)) world.problem(`the index ${id} was quarantined`)
      written.indexes.delete(id)
      return id
    },
    file: async (path) => path,
  }
}

/** An engine that answers after random delays. @param isHealthy false: it fails at random */
export function engine(world: World, life: Life, machine: Machine, isHealthy: () => boolean): Engine {
  const { written, files } = machine
  const pins = new Map<number, (directory: string) => void>()
  let pinned = 0
  interface Work {
    readonly index: string
    readonly batch: Batch
    readonly next: FakeIndex
    readonly report: BatchReport
  }
  const prepared = new Map<number, Work>()
  const busy = new Map<string, number>()
  let ticket = 0
  const fault = (share: number, batch?: Batch) => {
    if (isHealthy() || !world.chance(share)) return
    for (const { taskUid } of batch?.operations ?? []) written.failed.add(taskUid)
    world.note('the engine fails')
    const kind = world.below(3)
    if (kind === 0) throw Object.assign(new Error('ENOSPC: no space left'), { code: 'ENOSPC' })
    if (kind === 1) throw new EngineError('invalid_document_geo_field', 'somewhere')
    throw new Error('a fault of the engine')
  }
  const release = (index: string, own: number) => {
    if (busy.get(index) === own) busy.delete(index)
  }
  const textOf = (payload: Payload): string => {
    if ('text' in payload) return payload.text
    const text = files.get(payload.path)
    if (text === undefined) throw new Error(`the upload ${payload.path} is gone`)
    return text
  }
  return {
    kind: 'fallback',
    damage: () => null,
    condemn: () => undefined,
    expect: () => undefined,
    isTrusted: () => true,
    onChange: () => undefined,
    revision: () => 0,
    foreignKeys: async () => [],
    adopt: unsupported,
    analysis: unsupported,
    cacheFigures: unsupported,
    async prepare(index, batch) {
      if (busy.has(index))
        world.problem(`batch ${batch.uid} is prepared while another one is, on the same index`)
      const own = ++ticket
      busy.set(index, own)
      try {
        await world.point(life, `prepare ${batch.uid}`)
        if (!written.indexes.has(index)) written.indexes.set(index, emptyIndex)
        fault(0.05, batch)
        const [next, outcomes] = await applied(written.indexes.get(index) ?? emptyIndex, batch, textOf)
        const { primaryKey, documents } = next
        const count = Object.keys(documents).length
        const report = { batchUid: batch.uid, outcomes, primaryKey, documents: count }
        prepared.set(own, { index, batch, next: { ...next, lastCommit: report }, report })
        return { index, ticket: own, work: 0 }
      } catch (error) {
        release(index, own)
        throw error
      }
    },
    work: () => Promise.resolve(null),
    async commit({ index, ticket: own }) {
      try {
        await world.point(life, 'commit')
        const work = prepared.get(own)
        if (work === undefined) throw new Error('the batch was abandoned')
        prepared.delete(own)
        fault(0.05, work.batch)
        written.indexes.set(index, work.next)
        const log = written.applied.get(index) ?? []
        written.applied.set(index, log)
        const failed = new Set(work.report.outcomes.flatMap(({ taskUid, error }) => (error ? [taskUid] : [])))
        for (const { taskUid, kind } of work.batch.operations) {
          if (!failed.has(taskUid)) log.push({ uid: taskUid, kind })
        }
        world.note(`committed ${work.batch.uid}`)
        await world.point(life, 'commit answers')
        return work.report
      } finally {
        release(index, own)
      }
    },
    async progress() {
      return null
    },
    async abandon({ index, ticket: own }) {
      await world.point(life, 'abandon')
      if (prepared.delete(own)) release(index, own)
    },
    undo: async () => undefined,
    async lastCommit(index) {
      await world.point(life, 'lastCommit')
      fault(0.02)
      return written.indexes.get(index)?.lastCommit ?? null
    },
    async settings(index) {
      await world.point(life, 'settings')
      return JSON.stringify((written.indexes.get(index) ?? emptyIndex).settings)
    },
    async stats(index) {
      await world.point(life, 'stats')
      return {
        numberOfDocuments: Object.keys(written.indexes.get(index)?.documents ?? {}).length,
        rawDocumentDbSize: 0,
        indexSize: 0,
        numberOfEmbeddings: 0,
        numberOfEmbeddedDocuments: 0,
        fieldDistribution: {},
        wordDictionaries: {},
      }
    },
    async sizes() {
      await world.point(life, 'sizes')
      return { rawDocumentDbSize: 0, indexSize: 0 }
    },
    async list() {
      await world.point(life, 'list')
      fault(0.02)
      return [...written.indexes.keys()]
    },
    async drop(index) {
      await world.point(life, 'drop')
      fault(0.05)
      written.indexes.delete(index)
    },
    close: async () => undefined,
    inspect: unsupported,
    checkFilter: unsupported,
    search: unsupported,
    multiSearch: unsupported,
    explain: unsupported,
    facetSearch: unsupported,
    similar: unsupported,
    documents: unsupported,
    document: unsupported,
    fields: unsupported,
    async pin(index) {
      pins.set(++pinned, machine.copierOf(index))
      return { index, number: pinned }
    },
    settingsCost: unsupported,
    pinnedSettings: unsupported,
    pinnedDocuments: unsupported,
    snapshot: async ({ number }, directory) => pins.get(number)?.(directory),
    unpin: async ({ number }) => void pins.delete(number),
    compact: unsupported,
    newestCommitFile: async () => null,
    verify: unsupported,
    rescue: unsupported,
  }
}
