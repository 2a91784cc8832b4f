/** Files of a simulated machine, in memory. */
import type { FakeIndex } from '../../__test__/tasks/fake-engine.js'
import type { Operation } from '../../ts/engine/index.js'

/** Uploads by file name. */
export type Files = Map<string, string>

/** An operation applied by the engine. */
export interface Applied {
  readonly uid: number
  readonly kind: Operation['kind']
}

/** The files of the engine, which survive a process. */
export interface EngineFiles {
  readonly indexes: Map<string, FakeIndex>
  /** Index id → operations applied to it, in order. Kept after the index is dropped. */
  readonly applied: Map<string, Applied[]>
  /** Uids of tasks in batches with an injected fault. */
  readonly failed: Set<number>
  /** Index id → number of background merges of its files. */
  readonly merges: Map<string, number>
}
