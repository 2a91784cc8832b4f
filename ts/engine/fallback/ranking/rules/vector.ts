/**
 * Sorts documents by the distance of their vectors to the query vectors.
 *
 * Source: vectors §6.5, §6.6.
 * 1. The smallest distance between any two vectors counts; documents with equal distances share a bucket.
 * 2. The displayed similarity may be shifted by a distribution; sorting uses the plain distance.
 * 3. Documents without a vector come last.
 */
import { type Embedder, similarity, type VectorSet } from '../../vector/index.js'
import type { RankingRule } from '../rule.js'

/** A rule over the vectors of an embedder. @param vectors query vectors, at least one */
export function vectorRule(
  set: VectorSet | undefined,
  embedder: Embedder,
  vectors: readonly Float32Array[],
): RankingRule {
  return function* (docids, graph) {
    const distances = new Float32Array(docids.length).fill(Number.NaN)
    for (const vector of set === undefined ? [] : vectors)
      for (const [at, distance] of set!.distances(docids, vector, embedder).entries())
        if (!(distances[at]! <= distance)) distances[at] = distance
    const order = Array.from(docids.keys()).filter((at) => !Number.isNaN(distances[at]))
    order.sort((a, b) => distances[a]! - distances[b]! || a - b)
    for (let from = 0; from < order.length; ) {
      const distance = distances[order[from]!]!
      let to = from + 1
      while (to < order.length && distances[order[to]!] === distance) to++
      yield {
        docids: Uint32Array.from(order.slice(from, to), (at) => docids[at]!),
        graph,
        detail: { rule: 'vector', similarity: similarity(distance, embedder.shift) },
      }
      from = to
    }
    const rest = docids.filter((_, at) => Number.isNaN(distances[at]))
    if (rest.length > 0) yield { docids: rest, graph, detail: { rule: 'vector', similarity: null } }
  }
}
