/** The engines that test suites use, opened as the server opens them. */
import { loadAddon } from '../../ts/engine/addon.js'
import { openFallback } from '../../ts/engine/fallback/index.js'
import { openNative } from '../../ts/engine/native/index.js'
import type { OpenEngine } from './engine.js'
import { nativeEngine, type Requirement } from './requirements.js'
import { testEngine } from './server.js'

export interface TestedEngine {
  readonly name: 'fallback' | 'native'
  readonly open: OpenEngine
  /** Opens an engine with these word dictionaries. */
  readonly openWith: (dictionaries: readonly string[]) => OpenEngine
  /** Opens an engine with files that another process writes. */
  readonly follow: OpenEngine
  /** Requirements of its tests. */
  readonly needs: readonly Requirement[]
}

const silent = (): void => undefined
const loud = (facts: object, message: string): void => console.error(message, facts)
const log = { debug: silent, info: silent, warn: loud, error: loud }

export const fallback: TestedEngine = {
  name: 'fallback',
  open: (directory) => openFallback({ directory, log }),
  openWith: (dictionaries) => (directory) => openFallback({ directory, log, dictionaries }),
  follow: (directory) => openFallback({ directory, log, followsFiles: true }),
  needs: [],
}

interface NativeSetup {
  readonly followsFiles?: boolean
  readonly dictionaries?: readonly string[]
}

function openedNative(directory: string, setup: NativeSetup = {}): ReturnType<OpenEngine> {
  const loaded = loadAddon()
  if (!loaded.ok) throw new Error(loaded.reasons.join('; '))
  const limits = { indexingMemoryBytes: 256 * 1024 * 1024, indexingThreads: 2 }
  return openNative(loaded.addon, { directory, log, ...setup, ...limits })
}

export const native: TestedEngine = {
  name: 'native',
  open: (directory) => openedNative(directory),
  openWith: (dictionaries) => (directory) => openedNative(directory, { dictionaries }),
  follow: (directory) => openedNative(directory, { followsFiles: true }),
  needs: [nativeEngine],
}

export const testedEngines = [fallback, native] as const

/** The engine for suites that do not test search rules. Differences between engines have separate suites. */
export const chosenEngines = testedEngines.filter(({ name }) => name === testEngine)
