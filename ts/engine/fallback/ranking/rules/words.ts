/**
 * More of the query's words first. Source: search §6.3 and §7.2.
 *  1. A term that may be dropped costs as many words as it covers when it is.
 *  2. Once a term is dropped, no later term that is dropped earlier may be kept.
 *  3. Dropped terms are out of the query for all later rules.
 */

import { END, graphFromPaths, idCount, type PathStep, type QueryGraph } from '../../query/graph.js'
import type { TermResolver } from '../../query/resolver.js'
import { DocSet } from '../../store/docid-set.js'
import type { Bucket, RankingRule } from '../rule.js'

/** @param groups per node the group in which it is dropped, null if it never is */
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
        graph: graphFromPaths(paths),
        detail: { rule: 'words', rank: max - cost, max },
      } satisfies Bucket
    }
  }
}

/** Walks the readings of a cost and lets each claim what it matches. */
class Readings {
  /** Documents that no reading has claimed yet. */
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
    this.documents = graph.nodes.map(({ term, subset }) => resolver.documentsOf(term, subset))
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
          : (this.groups[to] === null ? 0 : idCount(this.graph.nodes[to]!)) + this.costMaxes[to]!,
      ),
    )
  }

  claim(cost: number, claimed: (path: readonly PathStep[], documents: DocSet) => void): void {
    this.walk(this.graph.first, cost, -1, this.left, [], claimed)
  }

  /**
   * @param cost still to be spent
   * @param dropped the latest group that was dropped so far: nothing of an earlier one may be kept
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
      const width = idCount(node)
      if (group !== null && width <= cost && cost - width <= this.costMaxes[to]!)
        this.walk(next, cost - width, Math.max(dropped, group), documents, path, claimed)
      if ((group !== null && group < dropped) || cost > this.costMaxes[to]!) continue
      const matching = documents.clone().intersect(this.documents[to]!)
      if (matching.isEmpty()) continue
      path.push({ node, subset: node.subset })
      this.walk(next, cost, dropped, matching, path, claimed)
      path.pop()
    }
  }
}

/** Documents that satisfy some reading once everything that may be dropped is. Source: search §6.2. */
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
  const hand = (documents: DocSet, successors: readonly number[]): void => {
    for (const to of successors) (to === END ? matched : reached[to]!).union(documents)
  }
  hand(resolver.index.alive.resized(resolver.bound), graph.first)
  for (const at of order) {
    const node = graph.nodes[at]!
    const documents = reached[at]!
    if (groups[at] === null) documents.intersect(resolver.documentsOf(node.term, node.subset))
    hand(documents, graph.successors[at]!)
  }
  return matched
}
