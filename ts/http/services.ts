import type { RequestListener, Server } from 'node:http'
import type { FastifyBaseLogger } from 'fastify'
import type { Auth } from '../auth/index.js'
import type { Embedders } from '../embedders/index.js'
import type { Answers, BackgroundFaults, Engine } from '../engine/index.js'
import type { Features } from '../instance/index.js'
import type { Outbound } from '../outbound/index.js'
import type { SettingsThread } from '../settings/index.js'
import type { InstanceStore, Tasks } from '../tasks/index.js'
import type { LogOutlets, Usage } from '../telemetry/index.js'
import type { Webhooks } from '../webhooks/index.js'
import {
  BODIES_BYTES_MAX,
  CHANGE_STREAMS_MAX,
  MEMORY_SHARE,
  TASK_WAITS_MAX,
  UNREAD_BYTES_MAX,
  UNREAD_MS_MAX,
} from './limits.js'
import type { QueryWatchOptions } from './queries/index.js'
import type { Replicated } from './replicas/index.js'

/** Launch options of the HTTP layer. */
export interface HttpOptions extends QueryWatchOptions {
  /** Largest accepted request body, in bytes after decompression. */
  readonly payloadBytesMax: number
  /** Whether the operator chose it. If not, JSON bodies have lower limits, which depend on their route. */
  readonly payloadIsChosen: boolean
  /** Bytes of memory for all JSON bodies that are not answered yet. */
  readonly bodiesBytesMax: number
  /** Bytes of all answers that have been made and not read yet. */
  readonly unreadBytesMax: number
  /** Milliseconds in which a client reads no byte of its answer, after which its connection is closed. */
  readonly unreadMsMax: number
  /** Searches running at the same time. */
  readonly searchesRunningMax: number
  /** Searches waiting for their turn; 0 refuses as soon as all turns are taken. */
  readonly searchesWaitingMax: number
  /** Milliseconds after which a waiting search is refused. */
  readonly searchWaitMsMax: number
  /** Requests that wait for the end of a task at the same time. Further ones are answered at once. */
  readonly taskWaitsMax: number
  /** Open streams of tasks and batches. Further ones are refused. */
  readonly changeStreamsMax: number
  /** Milliseconds after which a remote that has not answered its part of a search counts as failed. */
  readonly remoteSearchMsMax: number
  /** Whether browsers are shown the page at `/`. */
  readonly page: boolean
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
  slowQueryMs: null,
  queryStats: false,
  hashQueryText: false,
}

/** The bounds of the memory that all requests may take together, for a process with `memoryBytes` in all. */
export function memoryBounds(memoryBytes: number): Pick<HttpOptions, 'bodiesBytesMax' | 'unreadBytesMax'> {
  const share = Math.floor(memoryBytes * MEMORY_SHARE)
  return {
    bodiesBytesMax: Math.min(BODIES_BYTES_MAX, share),
    unreadBytesMax: Math.min(UNREAD_BYTES_MAX, share),
  }
}

/** The build of this server. An unknown part is the text `unknown`. */
export interface Version {
  readonly commitSha: string
  readonly commitDate: string
  readonly pkgVersion: string
}

/** Everything the routes need, handed to `buildServer`. */
export interface Services {
  readonly engine: Engine
  /** The engine's answers to searches. */
  readonly answers: Answers
  readonly tasks: Tasks
  readonly settingsThread: SettingsThread
  readonly instance: InstanceStore
  readonly webhooks: Webhooks
  readonly outbound: Outbound
  readonly embedders: Embedders
  readonly auth: Auth
  readonly features: Features
  readonly options: HttpOptions
  readonly log: FastifyBaseLogger
  readonly faults: BackgroundFaults
  /** Counts the use of the service. */
  readonly usage: Usage
  /** The destinations of the lines of `log`. */
  readonly outlets: LogOutlets
  readonly version: Version
  /** null or absent: the instance is kept in no bucket. */
  readonly replicated?: Replicated | null
  /** Makes the server that listens; null or absent: plain HTTP. */
  readonly createServer?: ((handler: RequestListener) => Server) | null
}
