/** An index in memory, its log, and what is about to happen to it. */
import type { IndexData } from './index-data.js'
import type { BatchPlan } from './indexing/prepare.js'
import type { CommitLog } from './store/log.js'
import { VersionCache } from './version-cache.js'

export class OpenIndex {
  readonly data: IndexData
  log: CommitLog
  /** The prepared batch, if there is one. */
  pending: { readonly ticket: number; readonly plan: BatchPlan | null } | null = null
  private versionCache: VersionCache

  constructor(data: IndexData, log: CommitLog) {
    this.data = data
    this.log = log
    this.versionCache = new VersionCache(data.version)
  }

  /** Good for the present version only. */
  get cache(): VersionCache {
    if (this.versionCache.version !== this.data.version)
      this.versionCache = new VersionCache(this.data.version)
    return this.versionCache
  }
}
