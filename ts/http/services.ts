import type { TlsOptions } from 'node:tls'
import type { FastifyBaseLogger } from 'fastify'
import type { Auth } from '../auth/index.js'
import type { Embedders } from '../embedders/index.js'
import type { BackgroundFaults, Engine } from '../engine/index.js'
import type { Features } from '../instance/index.js'
import type { Outbound } from '../outbound/index.js'
import type { InstanceStore, Tasks } from '../tasks/index.js'
import type { LogOutlets, Usage } from '../telemetry/index.js'
import type { Webhooks } from '../webhooks/index.js'
import { BODIES_BYTES_MAX, MEMORY_SHARE, UNREAD_BYTES_MAX } from './limits.js'

/** What the HTTP layer is told at launch. */
export interface HttpOptions {
  /** Bytes of a request body once decompressed; exactly this many still pass. */
  readonly payloadBytesMax: number
  /** Bytes of memory that all JSON bodies under way may take together. */
  readonly bodiesBytesMax: number
  /** Bytes of all answers that are made and not read yet. */
  readonly unreadBytesMax: number
  /** Searches running at the same time. */
  readonly searchesRunningMax: number
  /** Searches waiting for their turn; 0 refuses as soon as all turns are taken. */
  readonly searchesWaitingMax: number
  /** A search that waited this long is refused. */
  readonly searchWaitMsMax: number
  /** A remote that has not answered its part of a search by then counts as failed. */
  readonly remoteSearchMsMax: number
}

/** Defaults of the options above. Source: the service's option table, and `limits.ts`. */
export const defaultHttpOptions: HttpOptions = {
  payloadBytesMax: 100_000_000,
  bodiesBytesMax: BODIES_BYTES_MAX,
  unreadBytesMax: UNREAD_BYTES_MAX,
  searchesRunningMax: 8,
  searchesWaitingMax: 1000,
  searchWaitMsMax: 60_000,
  remoteSearchMsMax: 25_000,
}

/** The bounds of what requests may hold in the memory together, of so many bytes for the whole process. */
export function memoryBounds(memoryBytes: number): Pick<HttpOptions, 'bodiesBytesMax' | 'unreadBytesMax'> {
  const share = Math.floor(memoryBytes * MEMORY_SHARE)
  return {
    bodiesBytesMax: Math.min(BODIES_BYTES_MAX, share),
    unreadBytesMax: Math.min(UNREAD_BYTES_MAX, share),
  }
}

/** Which build answers; unknown parts are the word `unknown`. */
export interface Version {
  readonly commitSha: string
  readonly commitDate: string
  readonly pkgVersion: string
}

/** Everything the routes need, handed to `buildServer`. */
export interface Services {
  readonly engine: Engine
  readonly tasks: Tasks
  readonly instance: InstanceStore
  readonly webhooks: Webhooks
  readonly outbound: Outbound
  readonly embedders: Embedders
  readonly auth: Auth
  readonly features: Features
  readonly options: HttpOptions
  readonly log: FastifyBaseLogger
  readonly faults: BackgroundFaults
  /** Where the use of the service is summed up. */
  readonly usage: Usage
  /** Where the lines of `log` go. */
  readonly outlets: LogOutlets
  readonly version: Version
  /** Certificate, key and client policy; null or absent: plain HTTP. */
  readonly tls?: TlsOptions | null
}
