/** Computes the cheapest reading of the query for each document, and its cost. */
import { END, type PathStep, type QueryGraph, type TermNode } from '../../query/graph.js'
import { type CostRule, NEVER } from './rule.js'

/** Prefix of a reading, shared by all documents that chose it. */
interface Claim {
  /** Number of the successor, times `NEVER + 1`, plus the cost of the step to it. -1 for the start. */
  readonly key: number
  readonly step: PathStep | null
  readonly children: Map<number, Claim>
  /** The child that was chosen last: neighbouring documents often choose the same. */
  latest: Claim | null
}

/** Costs of the steps to a successor; null for the end. */
type Edge = { readonly to: number; readonly costs: Uint16Array; readonly rest: Uint16Array } | null

/** Costs of each reading step for each document. */
export class CostTable {
  costMax = 0
  /** Cost of each document, `NEVER` if no reading matches. */
  totals: Uint16Array = new Uint16Array(0)
  private readonly rule: CostRule
  private readonly graph: QueryGraph
  private readonly docids: Uint32Array
  /** Edges of each node in the order of its successors, at the number of the node plus 1; 0 is the start. */
  private readonly edges: Edge[][] = []
  /** Costs of the steps to each node, for a rule that does not read the node before. */
  private readonly costsTo: (Uint16Array | undefined)[] = []
  private readonly best: Uint16Array[]

  constructor(rule: CostRule, graph: QueryGraph, docids: Uint32Array) {
    this.rule = rule
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
        to === END ? 0 : this.rule.costMax(from, this.graph.nodes[to]!) + costMaxes[to]!,
      ),
    )
  }

  private costs(from: number, to: number): Uint16Array {
    const { rule, docids } = this
    const { nodes } = this.graph
    if (rule.readsPrevious) return rule.costs(from === -1 ? null : nodes[from]!, nodes[to]!, docids)
    this.costsTo[to] ??= rule.costs(null, nodes[to]!, docids)
    return this.costsTo[to]
  }

  private *cheapest(from: number, successors: readonly number[]): Generator<null, Uint16Array> {
    const cheapest = new Uint16Array(this.docids.length).fill(NEVER)
    const edges: Edge[] = []
    this.edges[from + 1] = edges
    for (const to of successors) {
      if (to === END) {
        edges.push(null)
        cheapest.fill(0)
        continue
      }
      const [costs, rest] = [this.costs(from, to), this.best[to]!]
      edges.push({ to, costs, rest })
      for (let at = 0; at < cheapest.length; at++) {
        const total = costs[at]! + rest[at]!
        if (total < cheapest[at]!) cheapest[at] = total
      }
      yield null
    }
    return cheapest
  }

  /** Readings that claim these documents, which have the same cost, in order of discovery. */
  paths(rows: Uint32Array): PathStep[][] {
    const root: Claim = { key: -1, step: null, children: new Map(), latest: null }
    // With a single step, the cost is that of the step.
    const claiming = this.hasOneStep ? rows.subarray(0, 1) : rows
    for (let at = 0; at < claiming.length; at++) this.claim(root, claiming[at]!)
    const found: PathStep[][] = []
    const collect = ({ children }: Claim, path: readonly PathStep[]): void => {
      if (children.size === 0) found.push([...path])
      const inOrder = [...children.values()].sort((a, b) => a.key - b.key)
      for (const child of inOrder) collect(child, [...path, child.step!])
    }
    collect(root, [])
    return found
  }

  private get hasOneStep(): boolean {
    const { nodes, first, successors } = this.graph
    return nodes.length === 1 && first.length === 1 && successors[0]!.every((to) => to === END)
  }

  private claim(root: Claim, row: number): void {
    let claim = root
    let edges = this.edges[0]!
    let left = this.totals[row]!
    for (;;) {
      let nth = 0
      for (; nth < edges.length; nth++) {
        const edge = edges[nth]!
        if (edge === null || edge.costs[row]! + edge.rest[row]! === left) break
      }
      const edge = edges[nth]
      if (edge === undefined || edge === null) return
      const cost = edge.costs[row]!
      claim = this.child(claim, nth, edge.to, cost)
      left -= cost
      edges = this.edges[edge.to + 1]!
    }
  }

  private child(claim: Claim, nth: number, to: number, cost: number): Claim {
    const key = nth * (NEVER + 1) + cost
    if (claim.latest?.key === key) return claim.latest
    let child = claim.children.get(key)
    if (child === undefined) {
      const node = this.graph.nodes[to]!
      const step = { node, kinds: this.rule.narrowed(node, cost) }
      child = { key, step, children: new Map(), latest: null }
      claim.children.set(key, child)
    }
    claim.latest = child
    return child
  }
}
