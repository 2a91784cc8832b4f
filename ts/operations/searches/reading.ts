import type { DisconnectSignal } from './disconnect-signal.js'
import type { AlsoRead } from './index-lookup.js'
import type { SearchAccess } from './services.js'

/** The context of a request that reads an index. */
export interface Reading {
  readonly access: SearchAccess
  readonly stop: DisconnectSignal
  /** Called with the additional indexes that are read. */
  readonly alsoRead: AlsoRead
}
