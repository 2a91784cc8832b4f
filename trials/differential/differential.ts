/** Compares the answers of both engines on random indexes. */
import fc from 'fast-check'
import { type World, worlds } from '../../__test__/engine/arbitraries.js'
import { type OpenEngine, type SearchBody, TestEngine } from '../../__test__/support/engine.js'

/** Searches per random index. Creating an index is the expensive part. */
const REQUESTS_PER_WORLD = 40

/** A search that the engines answer differently. */
export interface Difference {
  readonly request: SearchBody
  readonly native: string
  readonly fallback: string
}

/** Returns the answer without fields that vary between calls, or the error code. */
async function answer(engine: TestEngine, index: string, request: SearchBody): Promise<string> {
  try {
    const text = await engine.searchText(index, { showRankingScore: true, ...request })
    return text.replace(/"processingTimeMs":\d+/, '"processingTimeMs":0')
  } catch (error) {
    const { code, message } = error as { code?: string; message: string }
    return `refused: ${code ?? message}`
  }
}

/** Writes in three commits, so that documents are in several segments, replaced and deleted. */
async function writeInParts(engine: TestEngine, index: string, documents: World['documents']): Promise<void> {
  const half = documents.length >> 1
  // The second part replaces some documents of the first.
  const parts = [documents.slice(0, half), documents.slice(half >> 1)]
  for (const part of parts.filter(({ length }) => length > 0))
    await engine.outcome(index, await engine.upload(part, { primaryKey: 'id' }))
  const ids = documents.filter((_, at) => at % 7 === 3).map(({ id }) => String(id))
  await engine.apply(index, { kind: 'deleteByIds', ids })
}

/** Two engines that hold the same indexes. */
export class EnginePair {
  private readonly native: TestEngine
  private readonly fallback: TestEngine
  private indexes = 0
  /** Number of searches so far. */
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

  /** Returns the first search of a world that the engines answer differently, or null. */
  async difference({ settings, documents, requests }: World): Promise<Difference | null> {
    const index = `world-${++this.indexes}`
    const engines = [this.native, this.fallback] as const
    try {
      for (const engine of engines) {
        await engine.configure(index, settings)
        await writeInParts(engine, index, documents)
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

/** A world in which the engines differ. */
export interface Found extends Difference {
  readonly world: World
  readonly seed: number
}

/** Lower bound for the average number of searches per index. Request lists have random lengths up to the maximum. */
const REQUESTS_PER_WORLD_MIN = REQUESTS_PER_WORLD / 4

/**
 * Runs at least `cases` searches on random indexes.
 * @returns the smallest world found with a difference, or null
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
  if (difference === null) throw new Error(`seed ${seed}: a difference that cannot be reproduced`)
  return { ...difference, world, seed }
}
