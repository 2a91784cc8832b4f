import type { RequestListener, Server } from 'node:http'
import type { Auth } from '../auth/index.js'
import { type ChatTimes, chatTimes } from '../chats/index.js'
import type { Embedders } from '../embedding/index.js'
import type { Answers, BackgroundFaults, Engine } from '../engine/index.js'
import type { AnalysisWatch, Features, Webhooks } from '../instance/index.js'
import type { Outbound } from '../outbound/index.js'
import type { Replicated } from '../replication/index.js'
import type { Rerankers } from '../reranking/index.js'
import type { SettingsThread } from '../settings/index.js'
import type { InstanceStore, Tasks } from '../tasks/index.js'
import type { Logger, LogOutlets, Usage } from '../telemetry/index.js'
import type { Tracer } from '../tracing/index.js'
import type { Cells } from './cells/cells.js'
import {
  BODIES_BYTES_MAX,
  CHANGE_STREAMS_MAX,
  MEMORY_SHARE,
  TASK_WAITS_MAX,
  UNREAD_BYTES_MAX,
  UNREAD_MS_MAX,
} from './limits.js'
import type { OtherLoops } from './loop-figures.js'
import type { QueryWatch, QueryWatchOptions } from './queries/index.js'

/** Launch options of the HTTP layer. */
export interface HttpOptions extends QueryWatchOptions {
  /** Largest accepted request body, in bytes after decompression. */
  readonly payloadBytesMax: number
  /** True if the operator chose `payloadBytesMax`. If not, JSON bodies have lower limits that depend on the route. */
  readonly payloadIsChosen: boolean
  /** Bytes of memory for all JSON bodies that are received or handled. */
  readonly bodiesBytesMax: number
  /** Bytes of all answers that were made and not read yet. */
  readonly unreadBytesMax: number
  /** Milliseconds without a read byte after which the connection of an unread answer is closed. */
  readonly unreadMsMax: number
  /** Searches running at the same time. */
  readonly searchesRunningMax: number
  /** Searches waiting for a slot; 0 refuses searches as soon as all slots are taken. */
  readonly searchesWaitingMax: number
  /** Milliseconds after which a waiting search is refused. */
  readonly searchWaitMsMax: number
  /** Requests that may wait for the end of a task. Further requests are answered at once. */
  readonly taskWaitsMax: number
  /** Open streams of tasks and batches. Further streams are refused. */
  readonly changeStreamsMax: number
  /** Milliseconds that a remote has to answer its part of a search. Then it counts as failed. */
  readonly remoteSearchMsMax: number
  /** True if browsers get the page at `/`. */
  readonly page: boolean
  /** True if agents may write by `POST /mcp`, with a key that may. */
  readonly mcpWrites: boolean
  /** Origins of web pages that may call `POST /mcp`, in addition to those of this machine. */
  readonly mcpAllowedOrigins: '*' | readonly string[]
  /** Key of chats with OpenAI whose workspaces have none; null: none. */
  readonly openAiKey: string | null
  readonly chatTimes: ChatTimes
}

/** Defaults of the options above. Source: the service's option table, and `limits.ts`. */
export const defaultHttpOptions: HttpOptions = {
  payloadBytesMax: 100_000_000,
  payloadIsChosen: false,
  bodiesBytesMax: BODIES_BYTES_MAX,
  unreadBytesMax: UNREAD_BYTES_MAX,
  unreadMsMax: UNREAD_MS_MAX,
  searchesRunningMax: 8,
  searchesWaitingMax: 1000,
  searchWaitMsMax: 60_000,
  taskWaitsMax: TASK_WAITS_MAX,
  changeStreamsMax: CHANGE_STREAMS_MAX,
  remoteSearchMsMax: 25_000,
  page: false,
  mcpWrites: false,
  mcpAllowedOrigins: [],
  openAiKey: null,
  chatTimes,
  slowQueryMs: null,
  queryStats: false,
  hashQueryText: false,
}

/** Returns memory limits for all requests together, for a process with `memoryBytes` in total. */
export function memoryBounds(memoryBytes: number): Pick<HttpOptions, 'bodiesBytesMax' | 'unreadBytesMax'> {
  const share = Math.floor(memoryBytes * MEMORY_SHARE)
  return {
    bodiesBytesMax: Math.min(BODIES_BYTES_MAX, share),
    unreadBytesMax: Math.min(UNREAD_BYTES_MAX, share),
  }
}

/** The build of this server. An unknown part is the text `unknown`. */
interface Version {
  readonly commitSha: string
  readonly commitDate: string
  readonly pkgVersion: string
}

/** Counts indexes whose documents were cut into words by another version. */
export type OutdatedIndexes = Pick<AnalysisWatch, 'count' | 'lastCount' | 'onCount'>

/** The services that the routes need. */
export interface Services {
  readonly engine: Engine
  /** The cached answers of searches. */
  readonly answers: Answers
  readonly tasks: Tasks
  readonly settingsThread: SettingsThread
  readonly instance: InstanceStore
  readonly webhooks: Webhooks
  readonly outbound: Outbound
  readonly embedders: Embedders
  readonly rerankers: Rerankers
  readonly auth: Auth
  readonly features: Features
  readonly options: HttpOptions
  readonly log: Logger
  readonly faults: BackgroundFaults
  /** Usage statistics. */
  readonly usage: Usage
  /** Destinations of the lines of `log`. */
  readonly outlets: LogOutlets
  readonly version: Version
  /** null or absent: requests are not traced. */
  readonly tracer?: Tracer | null
  /** null or absent: the instance has no bucket. */
  readonly replicated?: Replicated | null
  /** null or absent: no other cell has indexes. */
  readonly cells?: Cells | null
  /** null or absent: nothing is known about outdated indexes. */
  readonly analysis?: OutdatedIndexes | null
  /** Absent: opened from the options. */
  readonly queryWatch?: QueryWatch
  /** null or absent: the main thread answers every request. */
  readonly loops?: OtherLoops | null
  /** Creates the listening server; null or absent: plain HTTP. */
  readonly createServer?: ((handler: RequestListener) => Server) | null
}
