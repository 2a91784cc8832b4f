import { LaunchError } from '../launch/index.js'
import { installCommand, loadAddon } from './addon.js'
import { type Answers, answersOf } from './answer-cache.js'
import type { Engine } from './engine.js'
import type { EngineSetup } from './setup.js'

export type EngineChoice = 'auto' | 'native' | 'fallback'

/** The engine that runs, and how it came to be that one. */
export interface OpenedEngine {
  readonly engine: Engine
  /** Its answers to searches, some of them cached. */
  readonly answers: Answers
  readonly kind: Engine['kind']
  /** One line for humans. */
  readonly why: string
  /** Why the native engine could not be loaded, one line per place tried; empty if it was not needed. */
  readonly reasons: readonly string[]
}

/** How the binary can be had, as the end of a sentence; empty if there is none for this machine. */
function remedy(): string {
  const command = installCommand('engine')
  return command === null ? '' : `; its binary is installed by \`${command}\``
}

/** The native engine was asked for and cannot be had. */
export class EngineLoadError extends LaunchError {
  override readonly name = 'EngineLoadError'
  readonly reasons: readonly string[]

  constructor(reasons: readonly string[]) {
    super(`the native engine cannot be loaded: ${reasons.join('; ')}${remedy()}`, 1)
    this.reasons = reasons
  }
}

/**
 * Opens the engine of `choice`; `auto` takes the native one where its binary loads, else the fallback,
 * with a warning that says why.
 *
 * A binary that loads but cannot open the directory is not replaced: the data may be its own.
 * @param answerCacheBytes of answers cached until their index changes; 0 caches none
 */
export async function openEngine(
  choice: EngineChoice,
  setup: EngineSetup,
  answerCacheBytes = 0,
): Promise<OpenedEngine> {
  const opened = await openChosen(choice, setup)
  return { ...opened, answers: answersOf(opened.engine, answerCacheBytes) }
}

type Chosen = Omit<OpenedEngine, 'answers'>

async function openChosen(choice: EngineChoice, setup: EngineSetup): Promise<Chosen> {
  if (choice === 'fallback') return openFallback(setup, 'asked for', [])
  const loaded = loadAddon()
  if (loaded.ok) {
    const { openNative } = await import('./native/index.js')
    const engine = await openNative(loaded.addon, setup)
    return { engine, kind: engine.kind, why: `loaded ${loaded.from}`, reasons: [] }
  }
  if (choice === 'native') throw new EngineLoadError(loaded.reasons)
  setup.log.warn({ reasons: loaded.reasons }, `native engine unavailable, using the fallback${remedy()}`)
  return openFallback(setup, 'the native engine could not be loaded', loaded.reasons)
}

async function openFallback(setup: EngineSetup, why: string, reasons: readonly string[]): Promise<Chosen> {
  const { openFallback: open } = await import('./fallback/index.js')
  const engine = await open(setup)
  return { engine, kind: engine.kind, why, reasons }
}
