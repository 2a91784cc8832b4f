/** The fallback engine in a thread that only searches. */

import type { ReportFault } from '../background-faults.js'
import type { IndexId } from '../index-id.js'
import { makeDirectory } from '../make-directory.js'
import { type FallbackOptions, LocalEngine } from './engine.js'
import { type CommitPlace, type OpenIndex, opensFast } from './open-index.js'
import { MissingCommitError } from './store/log.js'

/**
 * Searches in copies of indexes that another thread writes. It reads their files and changes none.
 *
 * A copy is at the commit that `catchUp` named, even if the files hold newer ones. An index without a copy is not
 * opened by a search.
 */
export class CopyEngine extends LocalEngine {
  static override async open(options: FallbackOptions, report: ReportFault): Promise<CopyEngine> {
    await makeDirectory(options.directory)
    return new CopyEngine({ ...options, followsFiles: true }, report)
  }

  /**
   * Opens a copy of an index at a commit, or brings the copy to it. One call per index at a time.
   * @returns false if that is not possible at a low cost: the copy is closed, and later commits may succeed
   */
  async catchUp(index: IndexId, place: CommitPlace): Promise<boolean> {
    const copy = await this.indexes.get(index)?.catch(() => null)
    if (copy !== undefined && copy !== null) {
      if (await copy.follow(place)) return true
      await this.closeIndex(index)
    }
    if (!(await opensFast(this.path(index), place))) return false
    try {
      await this.opened(index, place)
      return true
    } catch (error) {
      if (error instanceof MissingCommitError) return false
      throw error
    }
  }

  /** Closes the copy of an index; does nothing if there is none. */
  forget(index: IndexId): Promise<void> {
    return this.closeIndex(index)
  }

  protected override async existing(index: IndexId): Promise<OpenIndex> {
    const opening = this.indexes.get(index)
    if (opening === undefined) throw new Error(`this thread has no copy of index ${index}`)
    return opening
  }
}
