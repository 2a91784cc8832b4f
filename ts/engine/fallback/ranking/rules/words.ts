/**
 * Ranks documents with more query words first. Source: search §6.3 and §7.2.
 * 1. Dropping a term costs the number of words it covers.
 * 2. After a term is dropped, no later term of an earlier removal group may be kept.
 * 3. Dropped terms are removed from the query for all later rules.
 */

import { END, graphOfPaths, type PathStep, type QueryGraph, widthOf } from '../../query/graph.js'
import type { TermResolver } from '../../query/resolver.js'
import { DocSet } from '../../store/docid-set.js'
import type { Bucket, RankingRule } from '../rule.js'

/** @param groups removal group of each node; null: never dropped */
export function wordsRule(resolver: TermResolver, groups: readonly (number | null)[]): RankingRule {
  return function* (docids, graph) {
    if (graph === null) return
    const readings = new Readings(resolver, graph, groups, DocSet.of(resolver.bound, docids))
    const phraseWords = graph.nodes.reduce(
      (sum, { term }) => sum + (term.spec.phrase?.filter((word) => word !== null).length ?? 0),
      0,
    )
    const costMax = readings.costMax
    const max = 1 + Math.max(0, phraseWords - 1) + costMax
    for (let cost = 0; cost <= costMax && !readings.left.isEmpty(); cost++) {
      const paths: PathStep[][] = []
      const claimed = new DocSet(resolver.bound)
      readings.claim(cost, (path, documents) => {
        claimed.union(documents)
        paths.push([...path])
      })
      if (paths.length === 0) continue
      yield {
        docids: claimed.toArray(),
        graph: graphOfPaths(paths),
        detail: { rule: 'words', rank: max - cost, max },
      } satisfies Bucket
    }
  }
}

/** Walks the readings of a given cost. Each reading claims the documents it matches. */
class Readings {
  /** Documents not claimed by a reading yet. */
  readonly left: DocSet
  readonly costMax: number
  private readonly graph: QueryGraph
  private readonly groups: readonly (number | null)[]
  private readonly documents: readonly DocSet[]
  private readonly costMaxes: number[]

  constructor(
    resolver: TermResolver,
    graph: QueryGraph,
    groups: readonly (number | null)[],
    universe: DocSet,
  ) {
    this.graph = graph
    this.groups = groups
    this.left = universe
    this.documents = graph.nodes.map(({ term, kinds }) => resolver.documentsOf(term, kinds))
    this.costMaxes = new Array<number>(graph.nodes.length).fill(0)
    const order = Array.from(graph.nodes.keys()).sort(
      (a, b) => graph.nodes[b]!.firstId - graph.nodes[a]!.firstId,
    )
    for (const node of order) this.costMaxes[node] = this.costMaxFrom(graph.successors[node]!)
    this.costMax = this.costMaxFrom(graph.first)
  }

  private costMaxFrom(successors: readonly number[]): number {
    return Math.max(
      ...successors.map((to) =>
        to === END
          ? 0
          : (this.groups[to] === null ? 0 : widthOf(this.graph.nodes[to]!)) + this.costMaxes[to]!,
      ),
    )
  }

  claim(cost: number, claimed: (path: readonly PathStep[], documents: DocSet) => void): void {
    this.walk(this.graph.first, cost, -1, this.left, [], claimed)
  }

  /**
   * @param cost remaining cost
   * @param dropped highest removal group dropped so far: nodes of earlier groups may not be kept
   */
  private walk(
    successors: readonly number[],
    cost: number,
    dropped: number,
    documents: DocSet,
    path: PathStep[],
    claimed: (path: readonly PathStep[], documents: DocSet) => void,
  ): void {
    for (const to of successors) {
      if (to === END) {
        if (cost > 0) continue
        const found = documents.clone().intersect(this.left)
        if (found.isEmpty()) continue
        this.left.subtract(found)
        claimed(path, found)
        continue
      }
      const node = this.graph.nodes[to]!
      const next = this.graph.successors[to]!
      const group = this.groups[to]!
      const words = widthOf(node)
      if (group !== null && words <= cost && cost - words <= this.costMaxes[to]!)
        this.walk(next, cost - words, Math.max(dropped, group), documents, path, claimed)
      if ((group !== null && group < dropped) || cost > this.costMaxes[to]!) continue
      const matching = documents.clone().intersect(this.documents[to]!)
      if (matching.isEmpty()) continue
      path.push({ node, kinds: node.kinds })
      this.walk(next, cost, dropped, matching, path, claimed)
      path.pop()
    }
  }
}

/** Returns the documents that match a reading after all droppable terms are dropped. Source: search §6.2. */
export function matchSet(
  resolver: TermResolver,
  graph: QueryGraph,
  groups: readonly (number | null)[],
): DocSet {
  const reached = graph.nodes.map(() => new DocSet(resolver.bound))
  const matched = new DocSet(resolver.bound)
  const order = Array.from(graph.nodes.keys()).sort(
    (a, b) => graph.nodes[a]!.firstId - graph.nodes[b]!.firstId,
  )
  const propagate = (documents: DocSet, successors: readonly number[]): void => {
    for (const to of successors) (to === END ? matched : reached[to]!).union(documents)
  }
  propagate(resolver.index.alive.resized(resolver.bound), graph.first)
  for (const at of order) {
    const node = graph.nodes[at]!
    const documents = reached[at]!
    if (groups[at] === null) documents.intersect(resolver.documentsOf(node.term, node.kinds))
    propagate(documents, graph.successors[at]!)
  }
  return matched
}
