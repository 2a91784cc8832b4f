/** Compares searches with the answers recorded in `__test__/golden/*.json`. */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import test, { type ExecutionContext } from 'ava'
import { type JsonNode, readJsonText, toValue } from '../../../ts/parse/index.js'
import {
  type Document,
  type Hit,
  type PartialSettings,
  type SearchAnswer,
  type SearchBody,
  TestEngine,
} from '../../support/engine.js'
import type { TestedEngine } from '../../support/engines.js'
import { testNeeding } from '../../support/test-needing.js'

/** Expectation of a golden case; only the given members are compared. */
interface Expectation {
  readonly ids?: readonly unknown[]
  /** Rounded to six digits. */
  readonly scores?: readonly number[]
  readonly total?: number
  readonly pages?: number
  /** Scores of the `wordPosition` entry. */
  readonly positions?: readonly number[]
  readonly details?: readonly unknown[]
  readonly distances?: readonly (number | null)[]
  /** Counts by attribute and value; their order is compared too. */
  readonly facets?: Readonly<Record<string, Readonly<Record<string, number>>>>
  readonly stats?: unknown
  readonly formatted?: readonly unknown[]
  readonly matches?: readonly unknown[]
  readonly hits?: readonly unknown[]
  /** Error code. */
  readonly error?: string
}

interface GoldenCase {
  readonly name: string
  readonly request: SearchBody
  readonly expect: Expectation
}

/** Cases that share documents and settings. */
interface GoldenGroup {
  readonly name: string
  readonly settings?: PartialSettings
  readonly documents: readonly Document[]
  readonly cases: readonly GoldenCase[]
}

const GOLDEN_FILES = [
  'examples',
  'tokens',
  'derivations',
  'rules',
  'values',
  'shapes',
  'format',
  'relevance',
  'compounds',
] as const
// Compiled tests are in dist/, the cases next to the sources.
const goldenDirectory = join(dirname(fileURLToPath(import.meta.url)), '../../../../__test__/golden')

/** Converts an object to a list of entries: `JSON.parse` moves names such as `10` to the front. */
function entriesOf(node: JsonNode | undefined): unknown {
  if (node?.kind === 'object') return node.entries.map(([name, value]) => [name, entriesOf(value)])
  return node && toValue(node)
}

/** Returns the node at a path of names and indexes; undefined if it does not exist. */
function member(node: JsonNode | undefined, ...path: readonly (string | number)[]): JsonNode | undefined {
  return path.reduce<JsonNode | undefined>((inner, step) => {
    if (inner?.kind === 'array') return inner.items[Number(step)]
    return inner?.kind === 'object' ? inner.entries.find(([name]) => name === step)?.[1] : undefined
  }, node)
}

const rounded = (score: unknown): number => Math.round(Number(score) * 1e6) / 1e6
const column = (hits: readonly Hit[], name: string): unknown[] => hits.map((hit) => hit[name] ?? null)

function compare(t: ExecutionContext, name: string, expect: Expectation, answer: SearchAnswer): void {
  const { hits } = answer
  if (expect.ids !== undefined) t.deepEqual(column(hits, 'id'), [...expect.ids], `${name}: ids`)
  if (expect.scores !== undefined)
    t.deepEqual(column(hits, '_rankingScore').map(rounded), [...expect.scores], `${name}: scores`)
  if (expect.total !== undefined)
    t.is(answer.estimatedTotalHits ?? answer.totalHits, expect.total, `${name}: total`)
  if (expect.pages !== undefined) t.is(answer.totalPages, expect.pages, `${name}: pages`)
  if (expect.positions !== undefined)
    t.deepEqual(
      hits.map((hit) => (hit._rankingScoreDetails as { wordPosition: { score: number } }).wordPosition.score),
      [...expect.positions],
      `${name}: positions`,
    )
  if (expect.details !== undefined)
    t.deepEqual(column(hits, '_rankingScoreDetails'), [...expect.details], `${name}: details`)
  if (expect.distances !== undefined)
    t.deepEqual(column(hits, '_geoDistance'), [...expect.distances], `${name}: distances`)
  if (expect.stats !== undefined) t.deepEqual(answer.facetStats, expect.stats as never, `${name}: stats`)
  if (expect.formatted !== undefined)
    t.deepEqual(column(hits, '_formatted'), [...expect.formatted], `${name}: formatted`)
  if (expect.matches !== undefined)
    t.deepEqual(column(hits, '_matchesPosition'), [...expect.matches], `${name}: matches`)
  if (expect.hits !== undefined) {
    const plain = hits.map(({ _formatted, ...hit }) => hit)
    t.deepEqual(plain, [...expect.hits] as Hit[], `${name}: hits`)
  }
}

/** @param node the case as parsed JSON, which keeps the order of names */
async function runCase(
  t: ExecutionContext,
  engine: TestEngine,
  index: string,
  { name, request, expect }: GoldenCase,
  node: JsonNode | undefined,
): Promise<void> {
  const showRankingScore = expect.scores !== undefined
  if (expect.error !== undefined) {
    const error = await t.throwsAsync(engine.search(index, request), undefined, name)
    t.is((error as { code?: string } | undefined)?.code, expect.error, `${name}: code`)
    return
  }
  const text = await engine.searchText(index, { showRankingScore, ...request })
  compare(t, name, expect, JSON.parse(text) as SearchAnswer)
  if (expect.facets === undefined) return
  const distribution = member(readJsonText(text), 'facetDistribution')
  t.deepEqual(entriesOf(distribution), entriesOf(member(node, 'expect', 'facets')), `${name}: facets`)
}

/** Golden cases share an engine, with an index for each group. */
export function golden({ name, open, needs }: TestedEngine): void {
  const declare = testNeeding(needs)
  let opening: Promise<TestEngine> | null = null
  const shared = (): Promise<TestEngine> => {
    opening ??= TestEngine.open(open)
    return opening
  }
  test.after.always(async () => (await opening)?.stop())
  for (const file of GOLDEN_FILES) {
    const text = readFileSync(join(goldenDirectory, `${file}.json`), 'utf8')
    const written = readJsonText(text)
    for (const [at, group] of (JSON.parse(text) as GoldenGroup[]).entries()) {
      declare(`${name}: ${file}: ${group.name}`, async (t) => {
        const engine = await shared()
        const index = `${file}-${at}`
        // A slow machine must not cause a wrong answer.
        await engine.configure(index, { searchCutoffMs: 600_000, ...group.settings })
        await engine.outcome(index, await engine.upload(group.documents, { primaryKey: 'id' }))
        for (const [number, golden] of group.cases.entries())
          await runCase(t, engine, index, golden, member(written, at, 'cases', number))
      })
    }
  }
}
