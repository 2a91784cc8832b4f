import type { RuleFilters } from '../operations/index.js'
import type { TaskWaits } from './following/index.js'
import type { MemoryBudget } from './memory-budget.js'
import type { Metrics } from './metrics/index.js'
import type { ApiDocument } from './operations/index.js'
import type { QueryWatch } from './queries/index.js'
import type { NetworkBook } from './remotes/index.js'
import type { SearchQueue } from './searches/index.js'
import type { OutdatedIndexes, Services } from './services.js'
import type { InnerCalls } from './transport/index.js'

/** The services for every route plug-in, including parts of this module that several routes share. */
export interface RouteServices extends Services {
  readonly searches: SearchQueue
  /** A separate queue: similar documents do not wait for searches. */
  readonly similarSearches: SearchQueue
  /** Bounds the answers of remotes that all federated searches hold. */
  readonly remoteAnswers: MemoryBudget
  readonly waits: TaskWaits
  readonly network: NetworkBook
  readonly metrics: Metrics
  readonly queries: QueryWatch
  readonly ruleFilters: RuleFilters
  readonly apiDocument: ApiDocument
  readonly innerCalls: InnerCalls
}

/** The services for routes that search or read one document. */
export type SearchRouteServices = Pick<
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
  | 'network'
  | 'outbound'
  | 'searches'
  | 'similarSearches'
  | 'remoteAnswers'
  | 'settingsThread'
  | 'queries'
  | 'replicated'
  | 'cells'
> & {
  readonly metrics: Pick<Metrics, 'countDegraded'>
  readonly analysis?: Pick<OutdatedIndexes, 'count'> | null
}
