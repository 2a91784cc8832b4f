/**
 * Here is a price per reading step and document: which documents come first, by which readings?
 *
 * All graph rules but `words` share this. Source: spec/search-semantics.md §7.1.
 *  1. A document stands at the price of its cheapest reading; bucket k holds all documents of price k.
 *  2. Among readings of one price, the one found first by walking successors in node order claims it.
 *  3. The next rule sees the readings that claimed a document of the bucket, and no others.
 *  4. The rank counts down from the dearest reading that the graph has, satisfied or not.
 *
 * Claiming reading by reading, as §7.1 tells it, and taking each document's cheapest reading come to the
 * same: within one sequence of nodes only the cheapest alternatives can add up to the cheapest total.
 */
import { END, graphFromPaths, type PathStep, type QueryGraph, type TermNode } from '../query/graph.js'
import type { Subset } from '../query/term.js'
import type { Bucket, RankingRule, ScoreDetail } from './bucket.js'

/** Price of a step that a document does not satisfy. */
export const IMPOSSIBLE = 0xffff

/** How one rule charges for reading `to` after `from` (null at the start). */
export interface StepPrices {
  /** The dearest alternative, whether or not any document takes it. */
  most(from: TermNode | null, to: TermNode): number
  /** Price per document of `docids`, or `IMPOSSIBLE`. */
  prices(from: TermNode | null, to: TermNode, docids: Uint32Array): Uint16Array
  /** What is left of `to` once it was read at `price`. */
  narrowed(to: TermNode, price: number): Subset
}

export function costRule(
  steps: StepPrices,
  detailOf: (price: number, most: number) => ScoreDetail,
): RankingRule {
  return function* (docids, graph) {
    if (graph === null) return
    const table = new PriceTable(steps, graph, docids)
    yield* table.work()
    const byPrice = new Map<number, number[]>()
    for (let at = 0; at < docids.length; at++) {
      const price = table.totals[at]!
      const list = byPrice.get(price)
      if (list === undefined) byPrice.set(price, [at])
      else list.push(at)
    }
    const prices = [...byPrice.keys()].sort((a, b) => a - b)
    for (const price of prices) {
      const places = byPrice.get(price)!
      const bucket = Uint32Array.from(places, (at) => docids[at]!)
      yield price >= IMPOSSIBLE
        ? ({ docids: bucket, graph, detail: detailOf(table.most, table.most) } satisfies Bucket)
        : {
            docids: bucket,
            graph: graphFromPaths(table.paths(places)),
            detail: detailOf(price, table.most),
          }
    }
  }
}

/** A reading so far, shared by all documents that took it. */
interface Claim {
  readonly children: Map<number, { readonly step: PathStep; readonly claim: Claim }>
}

class PriceTable {
  most = 0
  /** Price per document, `IMPOSSIBLE` if no reading is satisfied. */
  totals: Uint16Array = new Uint16Array(0)
  private readonly steps: StepPrices
  private readonly graph: QueryGraph
  private readonly docids: Uint32Array
  /** Edge price arrays by `from * (nodes + 1) + to`; `from` is -1 for the start. */
  private readonly edges = new Map<number, Uint16Array>()
  private readonly best: Uint16Array[]

  constructor(steps: StepPrices, graph: QueryGraph, docids: Uint32Array) {
    this.steps = steps
    this.graph = graph
    this.docids = docids
    this.best = new Array<Uint16Array>(graph.nodes.length)
  }

  /** Works out all prices, a null after each step of a reading. */
  *work(): Generator<null> {
    const { graph } = this
    const mosts = new Array<number>(graph.nodes.length).fill(0)
    // Edges lead to higher ids, so that this order has every successor before its predecessors.
    const order = Array.from(graph.nodes.keys()).sort(
      (a, b) => graph.nodes[b]!.firstId - graph.nodes[a]!.firstId,
    )
    for (const from of order) {
      mosts[from] = this.mostFrom(graph.nodes[from]!, graph.successors[from]!, mosts)
      this.best[from] = yield* this.cheapest(from, graph.successors[from]!)
    }
    this.most = this.mostFrom(null, graph.first, mosts)
    this.totals = yield* this.cheapest(-1, graph.first)
  }

  private mostFrom(from: TermNode | null, successors: readonly number[], mosts: readonly number[]): number {
    return Math.max(
      0,
      ...successors.map((to) => (to === END ? 0 : this.steps.most(from, this.graph.nodes[to]!) + mosts[to]!)),
    )
  }

  private edge(from: number, to: number): Uint16Array {
    const key = (from + 1) * (this.graph.nodes.length + 1) + to
    let prices = this.edges.get(key)
    if (prices === undefined) {
      const { nodes } = this.graph
      prices = this.steps.prices(from === -1 ? null : nodes[from]!, nodes[to]!, this.docids)
      this.edges.set(key, prices)
    }
    return prices
  }

  private *cheapest(from: number, successors: readonly number[]): Generator<null, Uint16Array> {
    const cheapest = new Uint16Array(this.docids.length).fill(IMPOSSIBLE)
    for (const to of successors) {
      if (to === END) {
        cheapest.fill(0)
        continue
      }
      const [prices, rest] = [this.edge(from, to), this.best[to]!]
      for (let at = 0; at < cheapest.length; at++) {
        const total = Math.min(prices[at]! + rest[at]!, IMPOSSIBLE)
        if (total < cheapest[at]!) cheapest[at] = total
      }
      yield null
    }
    return cheapest
  }

  /** The readings that claim these documents, in the order in which they are found. */
  paths(places: readonly number[]): PathStep[][] {
    const root: Claim = { children: new Map() }
    for (const at of places) this.claim(root, at)
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
      const price = this.edge(from, to)[at]!
      const key = nth * (IMPOSSIBLE + 1) + price
      let next = claim.children.get(key)
      if (next === undefined) {
        const node = this.graph.nodes[to]!
        next = {
          step: { node, subset: this.steps.narrowed(node, price) },
          claim: { children: new Map() },
        }
        claim.children.set(key, next)
      }
      claim = next.claim
      left -= price
      from = to
      successors = this.graph.successors[to]!
    }
  }
}
