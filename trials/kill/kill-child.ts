/** The process that the kill trial kills: a queue over an engine, told what to enqueue by its parent. */
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openFake } from '../../__test__/tasks/fake-engine.js'
import type { DocumentsRequest, Engine } from '../../ts/engine/index.js'
import { openEngine } from '../../ts/engine/index.js'
import { openOutbound } from '../../ts/outbound/index.js'
import { LAUNCH_WEBHOOK, type OpenedTasks, openTasks, type Task } from '../../ts/tasks/index.js'
import { openWebhooks } from '../../ts/webhooks/index.js'

export type TrialEngine = 'fake' | 'fallback' | 'native'

/** Where the process ends: before or after a step of the engine's commit, or when the parent kills it. */
export type KillPoint = 'prepare' | 'commit' | 'committed' | 'any'

export interface ChildSetup {
  readonly directory: string
  readonly engine: TrialEngine
  readonly killAt: KillPoint
  /** How often the process passes that point before. */
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
  | { readonly ask: 'tell' }
  | { readonly ask: 'close' }

/** What the parent needs to judge a trial. */
export interface Told {
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
  | { readonly kind: 'told'; readonly told: Told }
  | { readonly kind: 'broken'; readonly message: string }

const setup = JSON.parse(process.argv[2] ?? '{}') as ChildSetup
const complaint = (facts: object, message: string) => console.error(message, facts)
const quiet = () => undefined
const log = { debug: quiet, info: quiet, warn: quiet, error: complaint }

const answer = (message: Answer) => process.send?.(message)

async function open(): Promise<Engine> {
  const directory = join(setup.directory, 'indexes')
  if (setup.engine === 'fake') return openFake(directory)
  const memory = { indexingMemoryBytes: 64 * 1024 ** 2, indexingThreads: 1 }
  return (await openEngine(setup.engine, { directory, log, ...memory })).engine
}

/** An engine that kills this process at a point of its commit. */
function mortal(engine: Engine): Engine {
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
    // A moment after the call, so that the process dies within the commit.
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

/** All tasks, oldest first; a page of a listing holds 10,000 at most. */
async function allTasks(tasks: OpenedTasks['tasks']): Promise<Told['tasks']> {
  const found: Told['tasks'][number][] = []
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

/** Waits until no task waits, then returns everything that the parent judges. */
async function tell({ tasks }: OpenedTasks, engine: Engine): Promise<Told> {
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
async function telling({ webhooks: store }: OpenedTasks): Promise<{ close(): Promise<void> }> {
  const outbound = openOutbound({ allowedNetworks: ['127.0.0.0/8'] })
  const launch = { url: setup.receiver, authorization: null }
  const webhooks = await openWebhooks({ store, outbound, launch, log })
  return { close: () => webhooks.close().then(() => outbound.close()) }
}

async function main(): Promise<void> {
  const engine = mortal(await open())
  const capacity = { reserveBytes: 64 * 1024 }
  const queue = await openTasks({ directory: setup.directory, engine, log, capacity })
  const teller = await telling(queue)
  queue.start()
  const obey = async (question: Question) => {
    switch (question.ask) {
      case 'enqueue': {
        const { name, operation } = question
        answer({ kind: 'enqueued', name, taskUid: await enqueue(queue, name, operation) })
        break
      }
      case 'tell':
        // Uploads and directories are removed after the last outcome is recorded, which closing waits for.
        await teller.close()
        await queue.close()
        answer({ kind: 'told', told: await reopened() })
        break
      case 'close':
        process.exit(0)
    }
  }
  const reopened = async () => {
    const again = await openTasks({ directory: setup.directory, engine, log, capacity })
    const teller = await telling(again)
    again.start()
    const told = await tell(again, engine)
    while ((await again.webhooks.next(LAUNCH_WEBHOOK)) !== null) {
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    await teller.close()
    await again.close()
    return told
  }
  process.on('message', (question: Question) => {
    obey(question).catch((error: unknown) => answer({ kind: 'broken', message: String(error) }))
  })
  answer({ kind: 'ready' })
}

main().catch((error: unknown) => {
  answer({ kind: 'broken', message: error instanceof Error ? (error.stack ?? error.message) : String(error) })
})
