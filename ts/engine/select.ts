import { LaunchError } from '../launch/index.js'
import { addonAdvice, loadAddon } from './addon.js'
import { type Answers, answersOf } from './answer-cache.js'
import { advising, installedDictionaries } from './dictionaries.js'
import type { Engine } from './engine.js'
import type { EngineSetup } from './setup.js'

export type EngineChoice = 'auto' | 'native' | 'fallback'

/** Returns an engine that makes the same calls. */
export type WrapEngine = (engine: Engine) => Engine

/** The engine that runs, and why it was chosen. */
export interface OpenedEngine {
  readonly engine: Engine
  /** Its search answers, with a cache. */
  readonly answers: Answers
  readonly kind: Engine['kind']
  /** A line for humans. */
  readonly why: string
  /** Why the native engine could not be loaded, one line per attempted path; empty if it was not needed. */
  readonly reasons: readonly string[]
}

/** Install instruction for the binary, to append to a sentence; empty if there is no binary for this machine. */
function installHint(): string {
  const advice = addonAdvice('engine')
  return advice === null ? '' : `; its binary is installed by ${advice}`
}

/** The native engine was requested but cannot be loaded. */
class EngineLoadError extends LaunchError {
  override readonly name = 'EngineLoadError'
  readonly reasons: readonly string[]

  constructor(reasons: readonly string[]) {
    super(`the native engine cannot be loaded: ${reasons.join('; ')}${installHint()}`, 1, {
      code: 'engine_unavailable',
    })
    this.reasons = reasons
  }
}

/**
 * Opens the engine of `choice`. `auto` uses the native engine if its binary loads, otherwise the fallback, with a
 * warning that gives the reason.
 *
 * If the binary loads but cannot open the directory, the call fails without fallback: the data may belong to the native
 * engine.
 * @param answerCacheBytes for answers cached until their index changes; 0 disables the cache
 * @param wrap observes the calls of the engine, below the cache of answers
 */
export async function openEngine(
  choice: EngineChoice,
  given: EngineSetup,
  answerCacheBytes = 0,
  wrap: WrapEngine = (engine) => engine,
): Promise<OpenedEngine> {
  const setup = { ...given, dictionaries: given.dictionaries ?? installedDictionaries() }
  const opened = await openChosen(choice, setup)
  const engine = wrap(advising(opened.engine, setup.dictionaries, setup.log))
  return { ...opened, engine, answers: answersOf(engine, answerCacheBytes) }
}

type Chosen = Omit<OpenedEngine, 'answers'>

async function openChosen(choice: EngineChoice, setup: EngineSetup): Promise<Chosen> {
  if (choice === 'fallback') return openFallback(setup, 'requested', [])
  const loaded = loadAddon()
  if (loaded.ok) {
    const { openNative } = await import('./native/index.js')
    const engine = await openNative(loaded.addon, setup)
    return { engine, kind: engine.kind, why: `loaded ${loaded.from}`, reasons: [] }
  }
  if (choice === 'native') throw new EngineLoadError(loaded.reasons)
  setup.log.warn({ reasons: loaded.reasons }, `native engine unavailable, using the fallback${installHint()}`)
  return openFallback(setup, 'the native engine could not be loaded', loaded.reasons)
}

async function openFallback(setup: EngineSetup, why: string, reasons: readonly string[]): Promise<Chosen> {
  const { openFallback: open } = await import('./fallback/index.js')
  const engine = await open(setup)
  return { engine, kind: engine.kind, why, reasons }
}
