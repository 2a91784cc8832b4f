/** Computes the cheapest reading of the query for each document, and its cost. */
import { END, type PathStep, type QueryGraph, type TermNode } from '../../query/graph.js'
import { type CostRule, NEVER } from './rule.js'

/** Prefix of a reading, shared by all documents that chose it. */
interface Claim {
  readonly children: Map<number, { readonly step: PathStep; readonly claim: Claim }>
}

/** Costs of each reading step for each document. */
export class CostTable {
  costMax = 0
  /** Cost of each document, `NEVER` if no reading matches. */
  totals: Uint16Array = new Uint16Array(0)
  private readonly steps: CostRule
  private readonly graph: QueryGraph
  private readonly docids: Uint32Array
  /** Edge costs by `from * (nodes + 1) + to`; `from` is -1 for the start. */
  private readonly edges = new Map<number, Uint16Array>()
  private readonly best: Uint16Array[]

  constructor(steps: CostRule, graph: QueryGraph, docids: Uint32Array) {
    this.steps = steps
    this.graph = graph
    this.docids = docids
    this.best = new Array<Uint16Array>(graph.nodes.length)
  }

  /** Computes all costs. Yields a null after each step of a reading. */
  *work(): Generator<null> {
    const { graph } = this
    const costMaxes = new Array<number>(graph.nodes.length).fill(0)
    // Edges lead to higher ids, so this order has every successor before its predecessors.
    const order = Array.from(graph.nodes.keys()).sort(
      (a, b) => graph.nodes[b]!.firstId - graph.nodes[a]!.firstId,
    )
    for (const from of order) {
      costMaxes[from] = this.costMaxFrom(graph.nodes[from]!, graph.successors[from]!, costMaxes)
      this.best[from] = yield* this.cheapest(from, graph.successors[from]!)
    }
    this.costMax = this.costMaxFrom(null, graph.first, costMaxes)
    this.totals = yield* this.cheapest(-1, graph.first)
  }

  private costMaxFrom(
    from: TermNode | null,
    successors: readonly number[],
    costMaxes: readonly number[],
  ): number {
    return Math.max(
      0,
      ...successors.map((to) =>
        to === END ? 0 : this.steps.costMax(from, this.graph.nodes[to]!) + costMaxes[to]!,
      ),
    )
  }

  private edge(from: number, to: number): Uint16Array {
    const key = (from + 1) * (this.graph.nodes.length + 1) + to
    let costs = this.edges.get(key)
    if (costs === undefined) {
      const { nodes } = this.graph
      costs = this.steps.costs(from === -1 ? null : nodes[from]!, nodes[to]!, this.docids)
      this.edges.set(key, costs)
    }
    return costs
  }

  private *cheapest(from: number, successors: readonly number[]): Generator<null, Uint16Array> {
    const cheapest = new Uint16Array(this.docids.length).fill(NEVER)
    for (const to of successors) {
      if (to === END) {
        cheapest.fill(0)
        continue
      }
      const [costs, rest] = [this.edge(from, to), this.best[to]!]
      for (let at = 0; at < cheapest.length; at++) {
        const total = Math.min(costs[at]! + rest[at]!, NEVER)
        if (total < cheapest[at]!) cheapest[at] = total
      }
      yield null
    }
    return cheapest
  }

  /** Readings that claim these documents, in order of discovery. */
  paths(rows: readonly number[]): PathStep[][] {
    const root: Claim = { children: new Map() }
    for (const at of rows) this.claim(root, at)
    const found: PathStep[][] = []
    const collect = (claim: Claim, path: readonly PathStep[]): void => {
      if (claim.children.size === 0) {
        found.push([...path])
        return
      }
      const children = [...claim.children].sort(([a], [b]) => a - b)
      for (const [, { step, claim: next }] of children) collect(next, [...path, step])
    }
    collect(root, [])
    return found
  }

  private claim(root: Claim, at: number): void {
    let claim = root
    let from = -1
    let left = this.totals[at]!
    let successors = this.graph.first
    for (;;) {
      const nth = successors.findIndex(
        (to) => to === END || this.edge(from, to)[at]! + this.best[to]![at]! === left,
      )
      const to = successors[nth]
      if (to === undefined || to === END) return
      const cost = this.edge(from, to)[at]!
      const key = nth * (NEVER + 1) + cost
      let next = claim.children.get(key)
      if (next === undefined) {
        const node = this.graph.nodes[to]!
        next = {
          step: { node, kinds: this.steps.narrowed(node, cost) },
          claim: { children: new Map() },
        }
        claim.children.set(key, next)
      }
      claim = next.claim
      left -= cost
      from = to
      successors = this.graph.successors[to]!
    }
  }
}
