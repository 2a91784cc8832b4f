import { loadAddon } from '../../ts/engine/addon.js'
import { openFallback } from '../../ts/engine/fallback/index.js'
import { openNative } from '../../ts/engine/native/index.js'
import { metamorphic } from './metamorphic.js'

const silent = (): void => undefined
const loud = (facts: object, message: string): void => console.error(message, facts)
const log = { debug: silent, info: silent, warn: loud, error: loud }

metamorphic('fallback', (directory) => openFallback({ directory, log }))

const loaded = loadAddon()
if (loaded.ok)
  metamorphic('native', (directory) =>
    openNative(loaded.addon, { directory, log, indexingMemoryBytes: 256 * 1024 * 1024, indexingThreads: 2 }),
  )
