/**
 * More of the query's words first. Source: spec/search-semantics.md §6.3 and §7.2.
 *  1. A term that may be dropped costs as many words as it covers when it is.
 *  2. Once a term is dropped, no later term that is dropped earlier may be kept.
 *  3. Dropped terms are out of the query for all later rules.
 */
import { DocSet } from '../doc-set.js'
import { END, graphFromPaths, idCount, type PathStep, type QueryGraph } from '../query/graph.js'
import type { Matcher } from '../query/matcher.js'
import type { Bucket, RankingRule } from './bucket.js'

/** @param groups per node the group in which it is dropped, null if it never is */
export function wordsRule(matcher: Matcher, groups: readonly (number | null)[]): RankingRule {
  return function* (docids, graph) {
    if (graph === null) return
    const readings = new Readings(matcher, graph, groups, DocSet.of(matcher.bound, docids))
    const phraseWords = graph.nodes.reduce(
      (sum, { term }) => sum + (term.spec.phrase?.filter((word) => word !== null).length ?? 0),
      0,
    )
    const most = readings.most
    const max = 1 + Math.max(0, phraseWords - 1) + most
    for (let price = 0; price <= most && !readings.left.isEmpty(); price++) {
      const paths: PathStep[][] = []
      const claimed = new DocSet(matcher.bound)
      readings.claim(price, (path, documents) => {
        claimed.union(documents)
        paths.push([...path])
      })
      if (paths.length === 0) continue
      yield {
        docids: claimed.toArray(),
        graph: graphFromPaths(paths),
        detail: { rule: 'words', rank: max - price, max },
      } satisfies Bucket
    }
  }
}

/** Walks the readings of a price and lets each claim what it matches. */
class Readings {
  /** Documents nobody claimed. */
  readonly left: DocSet
  readonly most: number
  private readonly graph: QueryGraph
  private readonly groups: readonly (number | null)[]
  private readonly documents: readonly DocSet[]
  private readonly mosts: number[]

  constructor(matcher: Matcher, graph: QueryGraph, groups: readonly (number | null)[], universe: DocSet) {
    this.graph = graph
    this.groups = groups
    this.left = universe
    this.documents = graph.nodes.map(({ term, subset }) => matcher.documentsOf(term, subset))
    this.mosts = new Array<number>(graph.nodes.length).fill(0)
    const order = Array.from(graph.nodes.keys()).sort(
      (a, b) => graph.nodes[b]!.firstId - graph.nodes[a]!.firstId,
    )
    for (const node of order) this.mosts[node] = this.mostFrom(graph.successors[node]!)
    this.most = this.mostFrom(graph.first)
  }

  private mostFrom(successors: readonly number[]): number {
    return Math.max(
      ...successors.map((to) =>
        to === END ? 0 : (this.groups[to] === null ? 0 : idCount(this.graph.nodes[to]!)) + this.mosts[to]!,
      ),
    )
  }

  claim(price: number, claimed: (path: readonly PathStep[], documents: DocSet) => void): void {
    this.walk(this.graph.first, price, -1, this.left, [], claimed)
  }

  /**
   * @param price still to be spent
   * @param dropped the latest group that was dropped so far: nothing of an earlier one may be kept
   */
  private walk(
    successors: readonly number[],
    price: number,
    dropped: number,
    documents: DocSet,
    path: PathStep[],
    claimed: (path: readonly PathStep[], documents: DocSet) => void,
  ): void {
    for (const to of successors) {
      if (to === END) {
        if (price > 0) continue
        const found = documents.clone().intersect(this.left)
        if (found.isEmpty()) continue
        this.left.subtract(found)
        claimed(path, found)
        continue
      }
      const node = this.graph.nodes[to]!
      const next = this.graph.successors[to]!
      const group = this.groups[to]!
      const cost = idCount(node)
      if (group !== null && cost <= price && price - cost <= this.mosts[to]!)
        this.walk(next, price - cost, Math.max(dropped, group), documents, path, claimed)
      if ((group !== null && group < dropped) || price > this.mosts[to]!) continue
      const kept = documents.clone().intersect(this.documents[to]!)
      if (kept.isEmpty()) continue
      path.push({ node, subset: node.subset })
      this.walk(next, price, dropped, kept, path, claimed)
      path.pop()
    }
  }
}

/** Documents that satisfy some reading once everything that may be dropped is. Source: §6.2. */
export function matchSet(matcher: Matcher, graph: QueryGraph, groups: readonly (number | null)[]): DocSet {
  const reached = graph.nodes.map(() => new DocSet(matcher.bound))
  const matched = new DocSet(matcher.bound)
  const order = Array.from(graph.nodes.keys()).sort(
    (a, b) => graph.nodes[a]!.firstId - graph.nodes[b]!.firstId,
  )
  const hand = (documents: DocSet, successors: readonly number[]): void => {
    for (const to of successors) (to === END ? matched : reached[to]!).union(documents)
  }
  hand(matcher.index.alive.resized(matcher.bound), graph.first)
  for (const at of order) {
    const node = graph.nodes[at]!
    const documents = reached[at]!
    if (groups[at] === null) documents.intersect(matcher.documentsOf(node.term, node.subset))
    hand(documents, graph.successors[at]!)
  }
  return matched
}
