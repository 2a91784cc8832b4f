import { loadAddon } from '../../ts/engine/addon.js'

const loaded = loadAddon()

/**
 * Whether there is a native engine to test. Suites skip theirs where there is none; that this is not an
 * oversight is what `native.spec.ts` in `e2e/` sees to.
 */
export const hasNative = loaded.ok

/** Why there is none, one line per place that was tried. */
export const nativeReasons: readonly string[] = loaded.ok ? [] : loaded.reasons
