/** What the native module exports: `crates/node`, by the types that `napi build` makes of it. */

import type { ReportFault } from '../background-faults.js'
import type { EngineHandle, Setup } from './addon-types.js'

export type { EngineHandle, Reply, Ticket } from './addon-types.js'

export interface Binding {
  /** @param report gets each fault of work in the background, of a kind that a test finds in `backgroundFaultKinds` */
  readonly EngineHandle: new (
    setup: Setup,
    report: ReportFault,
  ) => EngineHandle
}

/** Whether a loaded module is the one we mean: a binary of another version may lie at its place. */
export function isBinding(addon: unknown): addon is Binding {
  return (
    typeof addon === 'object' &&
    addon !== null &&
    'EngineHandle' in addon &&
    typeof addon.EngineHandle === 'function'
  )
}
