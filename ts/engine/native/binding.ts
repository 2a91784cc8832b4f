/** Types of the native module: `crates/node`, with the declarations that `napi build` generates. */

import type { ReportFault } from '../background-faults.js'
import type { EngineHandle, Setup } from './addon-types.js'

export type { EngineHandle, Reply, Ticket } from './addon-types.js'

interface Binding {
  /**
   * @param report receives each fault of background work; a test checks that all kinds are in `backgroundFaultKinds`
   */
  readonly EngineHandle: {
    new (setup: Setup, report: ReportFault): EngineHandle
    attach(number: number): EngineHandle
  }
  duplicateDescriptor(descriptor: number): number
}

/** Returns true if a loaded module is the native engine: the file may be a binary of another version. */
export function isBinding(addon: unknown): addon is Binding {
  return (
    typeof addon === 'object' &&
    addon !== null &&
    'EngineHandle' in addon &&
    typeof addon.EngineHandle === 'function'
  )
}
