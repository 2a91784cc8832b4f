/** Figures of judged queries as text or JSON. */
import {
  changesOf,
  idealOrder,
  type JudgedQuery,
  largestLoss,
  NDCG_DEPTH,
  RECALL_DEPTH,
  summaryOf,
} from '../../../judge/index.js'
import type { Explanation } from '../../../operations/index.js'
import { type CommandOutput, tableLines } from '../../command/index.js'
import { reasonLines } from '../explain.js'
import { explained, type Ranked, type Side } from './side.js'

/** Rankings of all queries by a side. */
export interface Result {
  readonly name: string
  readonly side: Side
  readonly ranked: readonly Ranked[]
}

/** The document whose position lowers the nDCG of a query most. */
interface Costly {
  readonly id: string
  readonly grade: number
  /** Position among the hits, from 0; null if it is not among the first 50. */
  readonly position: number | null
  /** null if the server cannot explain. */
  readonly explanation: Explanation | null
}

/** By position of the query. */
type Explained = ReadonlyMap<number, Costly>

/** Explains the worst queries and those that got worse, by the last result. Its settings must be in effect. */
export async function explainedQueries(
  results: readonly Result[],
  queries: readonly JudgedQuery[],
  show: number,
): Promise<Explained> {
  const [first, second] = results
  const { side, ranked } = second ?? first!
  const found = new Map<number, Costly>()
  const explain = async (at: number, before: readonly string[]): Promise<void> => {
    const { query, grades } = queries[at]!
    const { ids } = ranked[at]!
    const id = largestLoss(before, ids, grades)
    if (id === null) return
    const position = ids.indexOf(id)
    found.set(at, {
      id,
      grade: grades.get(id)!,
      position: position === -1 ? null : position,
      explanation: await explained(side, query, id),
    })
  }
  if (second !== undefined)
    for (const { at } of changesOf(first!.ranked, second.ranked).worse.slice(0, show))
      await explain(at, first!.ranked[at]!.ids)
  for (const at of worstOf(ranked, show))
    if (!found.has(at)) await explain(at, idealOrder(queries[at]!.grades))
  return found
}

const worstOf = (ranked: readonly Ranked[], show: number): readonly number[] =>
  [...ranked.keys()]
    .sort((a, b) => ranked[a]!.ndcg - ranked[b]!.ndcg || a - b)
    .filter((at) => ranked[at]!.ndcg < 1)
    .slice(0, show)

interface Report {
  readonly results: readonly Result[]
  readonly queries: readonly JudgedQuery[]
  readonly explained: Explained
  readonly show: number
  readonly asJson: boolean
}

export function printReport(report: Report, output: CommandOutput): void {
  if (report.asJson) printJson(report, output)
  else printText(report, output)
}

function printJson({ results, queries, explained: costly }: Report, output: CommandOutput): void {
  for (const [at, { query }] of queries.entries()) {
    const rankings = results.map(({ ranked }) => ranked[at]!)
    const found = costly.get(at)
    output.line(
      JSON.stringify({
        query,
        ndcg: rankings.map(({ ndcg }) => rounded(ndcg)),
        recall: rankings.map(({ recall }) => rounded(recall)),
        ...(found !== undefined && { costly: found }),
      }),
    )
  }
  const [first, second] = results
  const changes = second === undefined ? null : changesOf(first!.ranked, second.ranked)
  output.line(
    JSON.stringify({
      queries: queries.length,
      results: results.map(({ name, ranked }) => {
        const { ndcg, recall, empty } = summaryOf(ranked)
        return { name, ndcg: rounded(ndcg), recall: rounded(recall), withoutHit: empty }
      }),
      ...(changes !== null && { better: changes.better.length, worse: changes.worse.length }),
    }),
  )
}

function printText({ results, queries, explained: costly, show }: Report, output: CommandOutput): void {
  const rows = results.map(({ name, ranked }) => {
    const { ndcg, recall, empty } = summaryOf(ranked)
    return [name, ndcg.toFixed(4), recall.toFixed(4), String(empty)]
  })
  const titles = ['', `nDCG@${NDCG_DEPTH}`, `recall@${RECALL_DEPTH}`, 'no hit']
  for (const line of tableLines([titles, ...rows])) output.line(line)
  const [first, second] = results
  const print = (at: number, figures: string): void => {
    output.line(`  ${figures}  ${queries[at]!.query}`)
    const found = costly.get(at)
    if (found !== undefined) for (const line of costlyLines(found)) output.line(`    ${line}`)
  }
  if (second !== undefined) {
    const { worse, better } = changesOf(first!.ranked, second.ranked)
    const equal = queries.length - worse.length - better.length
    output.line(`${better.length} better, ${worse.length} worse, ${equal} equal`)
    for (const [title, changes] of [
      ['got worse', worse],
      ['got better', better],
    ] as const) {
      if (changes.length === 0 || show === 0) continue
      output.line(title)
      for (const { at, before, after } of changes.slice(0, show))
        print(at, `${before.toFixed(3)} → ${after.toFixed(3)}`)
    }
  }
  const { ranked, name } = second ?? first!
  const worst = worstOf(ranked, show)
  if (worst.length > 0) output.line(second === undefined ? 'worst' : `worst of ${name}`)
  for (const at of worst) print(at, ranked[at]!.ndcg.toFixed(3))
}

function costlyLines({ id, grade, position, explanation }: Costly): readonly string[] {
  const document = `${id} (grade ${grade})`
  if (explanation === null || explanation.isHit) {
    const place =
      position === null && explanation?.position == null
        ? `is not among the first ${RECALL_DEPTH} hits`
        : `is hit ${(explanation?.position ?? position ?? 0) + 1}`
    const rules = Object.entries(explanation?.rankingScoreDetails ?? {}).map(
      ([rule, said]) => `${rule} ${scoreOf(said)}`,
    )
    return [`${document} ${place}${rules.length === 0 ? '' : `: ${rules.join(', ')}`}`]
  }
  const [reason = '', ...more] = explanation.reasons.flatMap(reasonLines)
  return [`${document} is not a hit${reason === '' ? '' : `: ${reason}`}`, ...more]
}

/** The score of a rule to three digits, or its value for a rule such as `year:desc`. */
function scoreOf(said: unknown): string {
  const { score, value } = (typeof said === 'object' && said !== null ? said : {}) as {
    readonly score?: unknown
    readonly value?: unknown
  }
  return typeof score === 'number' ? String(rounded(score, 3)) : JSON.stringify(value ?? said)
}

const rounded = (value: number, digits = 6): number => Number(value.toFixed(digits))
