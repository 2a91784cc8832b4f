/** Access of other threads to the native engine of this process. */
import { loadAddon } from './addon.js'
import type { AttachedEngine } from './native/index.js'

/** The part of the native module that threads use. */
interface EngineSharing {
  /** @param number result of `Engine.publish` in the thread that opened the engine */
  attach(number: number): AttachedEngine
  /** Duplicates the descriptor of a socket, so that each thread can close its own. */
  duplicateDescriptor(descriptor: number): number
}

/** @throws Error if the native module cannot be loaded */
export async function engineSharing(): Promise<EngineSharing> {
  const loaded = loadAddon()
  if (!loaded.ok) throw new Error(`the native engine cannot be loaded: ${loaded.reasons.join('; ')}`)
  const { attachNative, duplicateDescriptor } = await import('./native/index.js')
  return {
    attach: (number) => attachNative(loaded.addon, number),
    duplicateDescriptor: (descriptor) => duplicateDescriptor(loaded.addon, descriptor),
  }
}
