import type { Metrics } from './metrics.js'
import type { ApiDocument } from './openapi.js'
import type { NetworkBook } from './remotes/index.js'
import type { SearchQueue } from './search-queue.js'
import type { Services } from './services.js'

/** What the plug-ins receive: the services, and what they share among themselves. */
export interface RouteServices extends Services {
  readonly searches: SearchQueue
  readonly network: NetworkBook
  readonly metrics: Metrics
  readonly apiDocument: ApiDocument
}
