import type { MessagePort } from 'node:worker_threads'
import { type Auth, openAuth } from '../../auth/index.js'
import { type Answers, answersOf, type Engine, engineSharing } from '../../engine/index.js'
import type { Features } from '../../instance/index.js'
import { RuleBook, type Tasks } from '../../tasks/index.js'
import { formatted, type LogOutlets, moduleLog, openLogWithOutlets } from '../../telemetry/index.js'
import type { RouteServices, SearchRouteServices } from '../route-services.js'
import { HandedOver } from './hand-over.js'
import type { LoopSetup } from './messages.js'
import { StateMirror } from './mirror.js'
import { LoopOutbox } from './outbox.js'

/** The services of a thread. Members that only the main thread has throw `HandedOver`. */
type LoopServices = Pick<
  RouteServices,
  | 'engine'
  | 'answers'
  | 'tasks'
  | 'embedders'
  | 'rerankers'
  | 'auth'
  | 'features'
  | 'options'
  | 'usage'
  | 'log'
  | 'network'
  | 'outbound'
  | 'settingsThread'
> &
  Required<Pick<SearchRouteServices, 'analysis'>>

interface OpenedLoop {
  readonly services: LoopServices
  readonly mirror: StateMirror
  readonly outbox: LoopOutbox
}

/** Opens the services of a thread over the engine of the main thread. */
export async function openLoop(setup: LoopSetup, control: MessagePort): Promise<OpenedLoop> {
  const outbox = new LoopOutbox((sent) => control.postMessage({ kind: 'outbox', ...sent }))
  let outlets: LogOutlets
  const opened = openLogWithOutlets({
    level: 'OFF',
    mode: 'JSON',
    destination: {
      write: (line: string) =>
        outbox.line({
          line,
          text: formatted(line, setup.logForm),
          level: outlets.lastLevel,
          module: outlets.lastModule,
        }),
    } as unknown as NodeJS.WritableStream,
  })
  outlets = opened.outlets
  const auth = await openAuth({ masterKey: setup.masterKey, store: noStore })
  const mirror = new StateMirror(setup.changes, setup.version, { keys: auth.keys, outlets })
  const engine = await sharedEngine(setup.engine, mirror)
  return {
    mirror,
    outbox,
    services: {
      engine,
      answers: withoutEmbedders(answersOf(engine, setup.answerCacheBytes)),
      tasks: await mirroredTasks(mirror),
      embedders: partial({}),
      rerankers: partial({}),
      auth: refreshed(auth, mirror),
      features: mirroredFeatures(mirror, setup),
      options: setup.options,
      usage: outbox.usage(setup.countsUse),
      log: moduleLog(opened.log, 'http'),
      network: partial({}),
      outbound: partial({}),
      settingsThread: partial({}),
      analysis: { count: async () => mirror.outdated },
    },
  }
}

/** Returns an object whose other members throw `HandedOver`. */
function partial<T extends object>(own: Partial<T>): T {
  return new Proxy(own, {
    get(target, name) {
      // `await` looks for `then`.
      if (name in target || name === 'then') return target[name as keyof T]
      throw new HandedOver(`\`${String(name)}\` belongs to the main thread`)
    },
  }) as T
}

/** The keys come from the main thread. */
const noStore = {
  keys: async () => [],
  putKey: async () => undefined,
  deleteKey: async () => undefined,
  isCopy: true,
  onReplaced: () => undefined,
}

const refreshed = (auth: Auth, mirror: StateMirror): Auth => ({
  keys: auth.keys,
  require(...given) {
    mirror.refresh()
    return auth.require(...given)
  },
  requireValid: (authorization) => auth.requireValid(authorization),
})

/** Hands over searches that may need an embedder, before their first part is answered. */
const withoutEmbedders = (answers: Answers): Answers => ({
  search(id, request, ...rest) {
    if (request.hybrid !== null && request.vector === null)
      throw new HandedOver('the main thread has the embedders')
    return answers.search(id, request, ...rest)
  },
  figures: () => answers.figures(),
})

async function sharedEngine(number: number, mirror: StateMirror): Promise<Engine> {
  const shared = (await engineSharing()).attach(number)
  return partial<Engine>({
    kind: 'native',
    revision: (id) => mirror.facts(id)?.revision ?? 0,
    search: (id, request, stop) => shared.search(id, request, stop),
    multiSearch: (requests, federation, stop) => shared.multiSearch(requests, federation, stop),
    facetSearch: (id, request, stop) => shared.facetSearch(id, request, stop),
    similar: (id, request, stop) => shared.similar(id, request, stop),
    document: (id, request) => shared.document(id, request),
  })
}

async function mirroredTasks(mirror: StateMirror): Promise<Tasks> {
  const noRules = await RuleBook.of([])
  return partial<Tasks>({
    index(uid) {
      const entry = mirror.index(uid)
      if (entry !== null && mirror.facts(entry.id)?.isTrusted !== true)
        throw new HandedOver('the index must be checked first')
      return entry
    },
    rules() {
      if (mirror.flags.dynamicSearchRules) throw new HandedOver('the main thread has the rules')
      return noRules
    },
  })
}

const mirroredFeatures = (mirror: StateMirror, { ruleBudgets }: LoopSetup): Features =>
  partial<Features>({
    get flags() {
      return mirror.flags
    },
    ruleBudgets,
    require(feature) {
      if (!mirror.flags[feature]) throw new HandedOver('the main thread refuses it')
    },
  })
