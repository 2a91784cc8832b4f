import type { DisconnectSignal } from './disconnect-signal.js'
import type { AlsoRead } from './index-lookup.js'
import type { SearchAccess } from './services.js'

/** The request that reads an index. */
export interface Reading {
  readonly access: SearchAccess
  readonly stop: DisconnectSignal
  /** Is told which further indexes are read. */
  readonly alsoRead: AlsoRead
}
