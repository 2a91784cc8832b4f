import test from 'ava'
import { loadAddon } from '../../ts/engine/addon.js'
import type { Engine } from '../../ts/engine/engine.js'
import { openNative } from '../../ts/engine/native/index.js'
import { conformance } from './conformance.js'

const silent = (): void => undefined
const loud = (facts: object, message: string): void => console.error(message, facts)
const log = { debug: silent, info: silent, warn: loud, error: loud }

const loaded = loadAddon()
if (loaded.ok) {
  const open = (directory: string): Promise<Engine> =>
    openNative(loaded.addon, { directory, log, indexingMemoryBytes: 256 * 1024 * 1024, indexingThreads: 2 })
  conformance('native', open)
} else if (process.env['CI'] === undefined) {
  // Without a binary there is nothing to test; CI, which has one, fails below instead.
  test.skip(`native: ${loaded.reasons.join('; ')}`, (t) => t.pass())
} else {
  test('native: there is a binary to test', (t) => t.fail(loaded.reasons.join('; ')))
}
