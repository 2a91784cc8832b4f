/** Do both engines give the same answer? Asked of random indexes. */
import fc from 'fast-check'
import { type World, worlds } from '../../__test__/engine/arbitraries.js'
import { type OpenEngine, type SearchBody, TestEngine } from '../../__test__/support/engine.js'

/** Searches asked of each random index: making an index is the dear part. */
const REQUESTS_PER_WORLD = 40

/** One search that two engines answer differently. */
export interface Difference {
  readonly request: SearchBody
  readonly native: string
  readonly fallback: string
}

/** An answer without what may differ from call to call; for a refusal, its code. */
async function answer(engine: TestEngine, index: string, request: SearchBody): Promise<string> {
  try {
    const text = await engine.searchText(index, { showRankingScore: true, ...request })
    return text.replace(/"processingTimeMs":\d+/, '"processingTimeMs":0')
  } catch (error) {
    const { code, message } = error as { code?: string; message: string }
    return `refused: ${code ?? message}`
  }
}

/** A pair of engines under the same names. */
export class EnginePair {
  private readonly native: TestEngine
  private readonly fallback: TestEngine
  private indexes = 0
  /** Searches both were asked so far. */
  asked = 0

  private constructor(native: TestEngine, fallback: TestEngine) {
    this.native = native
    this.fallback = fallback
  }

  static async open(native: OpenEngine, fallback: OpenEngine): Promise<EnginePair> {
    return new EnginePair(await TestEngine.open(native), await TestEngine.open(fallback))
  }

  async stop(): Promise<void> {
    await this.native.stop()
    await this.fallback.stop()
  }

  /** The first search of a world that is answered differently; null if there is none. */
  async difference({ settings, documents, requests }: World): Promise<Difference | null> {
    const index = `world-${++this.indexes}`
    const engines = [this.native, this.fallback] as const
    try {
      for (const engine of engines) {
        await engine.configure(index, settings)
        await engine.outcome(index, await engine.upload(documents, { primaryKey: 'id' }))
      }
      for (const request of requests) {
        this.asked++
        const [native, fallback] = await Promise.all(engines.map((engine) => answer(engine, index, request)))
        if (native !== fallback) return { request, native: native!, fallback: fallback! }
      }
      return null
    } finally {
      for (const { engine } of engines) await engine.drop(index)
    }
  }
}

/** A world both engines were told, and where they differ. */
export interface Found extends Difference {
  readonly world: World
  readonly seed: number
}

/** Searches asked of a random index on average, at least: lists of requests have any length up to the bound. */
const REQUESTS_PER_WORLD_MIN = REQUESTS_PER_WORLD / 4

/**
 * Asks `cases` searches or a few more of random indexes.
 * @returns the smallest world found that has a difference, null if none has
 */
export async function searchForDifference(
  pair: EnginePair,
  cases: number,
  seed: number,
): Promise<Found | null> {
  const enough = pair.asked + cases
  const result = await fc.check(
    fc.asyncProperty(worlds(REQUESTS_PER_WORLD), async (world) => {
      if (pair.asked >= enough) return
      const difference = await pair.difference(world)
      if (difference !== null) throw new Error(JSON.stringify(difference))
    }),
    { numRuns: Math.ceil(cases / REQUESTS_PER_WORLD_MIN), seed },
  )
  const world = result.counterexample?.[0]
  if (world === undefined) return null
  const difference = await pair.difference(world)
  if (difference === null) throw new Error(`seed ${seed}: a difference that did not come again`)
  return { ...difference, world, seed }
}
