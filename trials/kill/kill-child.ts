/** The process that the kill trial kills: a task queue with an engine, controlled by its parent. */
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openFake } from '../../__test__/tasks/fake-engine.js'
import type { DocumentsRequest, Engine } from '../../ts/engine/index.js'
import { openEngine } from '../../ts/engine/index.js'
import { openWebhooks } from '../../ts/instance/index.js'
import { openOutbound } from '../../ts/outbound/index.js'
import { LAUNCH_WEBHOOK, type OpenedTasks, openTasks, type Task } from '../../ts/tasks/index.js'

export type TrialEngine = 'fake' | 'fallback' | 'native'

/** Where the process ends: at a step of the engine's commit, or at a random moment chosen by the parent. */
export type KillPoint = 'prepare' | 'commit' | 'committed' | 'any'

export interface ChildSetup {
  readonly directory: string
  readonly engine: TrialEngine
  readonly killAt: KillPoint
  /** How often the process passes that point before it ends there. */
  readonly passes: number
  /** URL of the webhook. */
  readonly receiver: string
}

export type Operation =
  | { readonly kind: 'add'; readonly index: string; readonly ids: readonly string[] }
  | { readonly kind: 'delete'; readonly index: string; readonly ids: readonly string[] }
  | { readonly kind: 'settings'; readonly index: string; readonly word: string }
  | { readonly kind: 'drop'; readonly index: string }

export type Question =
  | { readonly ask: 'enqueue'; readonly name: string; readonly operation: Operation }
  | { readonly ask: 'state' }
  | { readonly ask: 'close' }

/** Final state of the queue and the engine, for the parent to judge. */
export interface FinalState {
  readonly tasks: readonly Task[]
  readonly batches: number
  /** Index uid → its documents. */
  readonly documents: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>
  readonly spooled: readonly string[]
  /** Engine directories without an index, and indexes without a directory. */
  readonly strays: readonly string[]
}

export type Answer =
  | { readonly kind: 'ready' }
  | { readonly kind: 'enqueued'; readonly name: string; readonly taskUid: number }
  | { readonly kind: 'state'; readonly state: FinalState }
  | { readonly kind: 'broken'; readonly message: string }

const setup = JSON.parse(process.argv[2] ?? '{}') as ChildSetup
const logError = (facts: object, message: string) => console.error(message, facts)
const quiet = () => undefined
const log = { debug: quiet, info: quiet, warn: quiet, error: logError }

const answer = (message: Answer) => process.send?.(message)

async function open(): Promise<Engine> {
  const directory = join(setup.directory, 'indexes')
  if (setup.engine === 'fake') return openFake(directory)
  const memory = { indexingMemoryBytes: 64 * 1024 ** 2, indexingThreads: 1 }
  return (await openEngine(setup.engine, { directory, log, ...memory })).engine
}

/** Wraps an engine so that it kills this process at the kill point. */
function killing(engine: Engine): Engine {
  let passes = setup.passes
  const die = (point: KillPoint) => {
    if (setup.killAt === point && passes-- === 0) process.kill(process.pid, 'SIGKILL')
  }
  const prepare: Engine['prepare'] = async (...given) => {
    const prepared = await engine.prepare(...given)
    die('prepare')
    return prepared
  }
  const commit: Engine['commit'] = async (...given) => {
    // Shortly after the call, so that the process dies within the commit.
    if (setup.killAt === 'commit') setImmediate(() => die('commit'))
    const report = await engine.commit(...given)
    die('committed')
    return report
  }
  return new Proxy(engine, {
    get(target, name) {
      if (name === 'prepare') return prepare
      if (name === 'commit') return commit
      const member: unknown = Reflect.get(target, name)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
}

async function enqueue({ tasks }: OpenedTasks, name: string, operation: Operation): Promise<number> {
  const { index: indexUid } = operation
  const customMetadata = name
  switch (operation.kind) {
    case 'add': {
      const slot = await tasks.spool('json')
      const body = JSON.stringify(operation.ids.map((id) => ({ id, text: `words of ${name}` })))
      await writeFile(slot.path, body)
      await slot.sync()
      const { taskUid } = await tasks.enqueue({
        indexUid,
        type: 'documentAdditionOrUpdate',
        customMetadata,
        content: {
          kind: 'documents',
          method: 'replace',
          payload: { path: slot.path, format: 'json' },
          payloadBytes: body.length,
          receivedDocuments: operation.ids.length,
          primaryKey: 'id',
          skipCreation: false,
          mayCreateIndex: true,
        },
      })
      return taskUid
    }
    case 'delete': {
      const content = { kind: 'deleteByIds', ids: operation.ids } as const
      return (await tasks.enqueue({ indexUid, type: 'documentDeletion', customMetadata, content })).taskUid
    }
    case 'settings': {
      const patch = JSON.stringify({ stopWords: [operation.word] })
      const content = {
        kind: 'settings',
        patch,
        details: patch,
        isReset: false,
        mayCreateIndex: true,
      } as const
      return (await tasks.enqueue({ indexUid, type: 'settingsUpdate', customMetadata, content })).taskUid
    }
    case 'drop': {
      const content = { kind: 'indexDeletion' } as const
      return (await tasks.enqueue({ indexUid, type: 'indexDeletion', customMetadata, content })).taskUid
    }
  }
}

/** Lists all tasks, oldest first, in pages of at most 10,000. */
async function allTasks(tasks: OpenedTasks['tasks']): Promise<FinalState['tasks']> {
  const found: FinalState['tasks'][number][] = []
  for (let from: number | null = 0; from !== null; ) {
    const page: Awaited<ReturnType<typeof tasks.list>> = await tasks.list(
      {},
      { limit: 10_000, from, reverse: true },
    )
    found.push(...page.results)
    from = page.next
  }
  return found
}

/** Waits until all tasks ended, then reads the final state. */
async function readState({ tasks }: OpenedTasks, engine: Engine): Promise<FinalState> {
  const all = { limit: 10_000, from: null, reverse: true }
  const unfinished = { statuses: ['enqueued', 'processing'] as const }
  while ((await tasks.list(unfinished, { ...all, limit: 1 })).total > 0) {
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  const documents: Record<string, Readonly<Record<string, unknown>>[]> = {}
  for (const { uid, id } of tasks.indexes()) {
    const request: DocumentsRequest = {
      indexUid: uid,
      offset: 0,
      limit: 1_000_000,
      fields: null,
      retrieveVectors: false,
      ids: null,
      filter: null,
      sort: null,
      features: { containsFilter: false, legacySearch: false, multimodal: false, foreignKeys: false },
    }
    const bytes = await engine.documents(id, Buffer.from(JSON.stringify(request)))
    const page = JSON.parse(Buffer.from(bytes).toString()) as { results: Record<string, unknown>[] }
    documents[uid] = page.results
  }
  const known = tasks.indexes().map(({ id }) => id)
  const found = await engine.list()
  return {
    tasks: await allTasks(tasks),
    batches: (await tasks.batches({}, { ...all, limit: 0 })).total,
    documents,
    spooled: await readdir(join(setup.directory, 'update_files')),
    strays: [...found.filter((id) => !known.includes(id)), ...known.filter((id) => !found.includes(id))],
  }
}

/** Delivers webhooks to the parent's receiver until closed. */
async function deliverWebhooks({ webhooks: store }: OpenedTasks): Promise<{ close(): Promise<void> }> {
  const outbound = openOutbound({ allowedNetworks: ['127.0.0.0/8'] })
  const launch = { url: setup.receiver, authorization: null }
  const webhooks = await openWebhooks({ store, outbound, launch, log })
  return { close: () => webhooks.close().then(() => outbound.close()) }
}

async function main(): Promise<void> {
  const engine = killing(await open())
  const capacity = { reserveBytes: 64 * 1024 }
  const queue = await openTasks({ directory: setup.directory, engine, log, capacity })
  const delivery = await deliverWebhooks(queue)
  queue.start()
  const obey = async (question: Question) => {
    switch (question.ask) {
      case 'enqueue': {
        const { name, operation } = question
        answer({ kind: 'enqueued', name, taskUid: await enqueue(queue, name, operation) })
        break
      }
      case 'state':
        // Closing waits until uploads and directories are removed, which follows the record of the last outcome.
        await delivery.close()
        await queue.close()
        // As in a server: closing may interrupt a commit, and only an engine without open indexes reverts it.
        await engine.close()
        answer({ kind: 'state', state: await reopened() })
        break
      case 'close':
        process.exit(0)
    }
  }
  const reopened = async () => {
    const engine = await open()
    const again = await openTasks({ directory: setup.directory, engine, log, capacity })
    const delivery = await deliverWebhooks(again)
    again.start()
    const state = await readState(again, engine)
    while ((await again.webhooks.next(LAUNCH_WEBHOOK)) !== null) {
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    await delivery.close()
    await again.close()
    await engine.close()
    return state
  }
  process.on('message', (question: Question) => {
    obey(question).catch((error: unknown) => answer({ kind: 'broken', message: String(error) }))
  })
  answer({ kind: 'ready' })
}

main().catch((error: unknown) => {
  answer({ kind: 'broken', message: error instanceof Error ? (error.stack ?? error.message) : String(error) })
})
