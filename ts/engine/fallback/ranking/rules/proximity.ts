/**
 * Words closer together first. Source: search §7.4.
 *  1. Neighbours in order cost nothing; a step further, or the other way round, costs one more.
 *  2. From four steps on, and across fields, every distance costs the same.
 *  3. Words that are not neighbours in the query have no distance.
 *  4. Phrases, splits and synonyms count from their last and first word, in order only.
 */

import { find, occurrencesEnd, occurrencesStart, type PostingList } from '../../postings.js'
import { idCount, type TermNode } from '../../query/graph.js'
import type { Occurrences, TermResolver } from '../../query/resolver.js'
import { NEVER, rankByCost } from '../cost/index.js'
import type { RankingRule } from '../rule.js'

/** Cost of a pair that is nowhere near. */
const FAR = 3

export function proximityRule(resolver: TermResolver, byAttribute: boolean): RankingRule {
  const adjacent = (from: TermNode | null, to: TermNode): from is TermNode =>
    from !== null && from.lastPosition + 1 === to.firstPosition
  return rankByCost(
    {
      costMax: (from, to) => idCount(to) - 1 + (adjacent(from, to) ? FAR : 0),
      costs: (from, to, docids) => {
        const base = idCount(to) - 1
        const documents = resolver.documentsOf(to.term, to.subset)
        const anywhere = base + (adjacent(from, to) ? FAR : 0)
        const costs = Uint16Array.from(docids, (docid) => (documents.has(docid) ? anywhere : NEVER))
        if (!adjacent(from, to)) return costs
        const left = resolver.occurrences(from.term, from.subset)
        const right = resolver.occurrences(to.term, to.subset)
        for (let at = 0; at < docids.length; at++) {
          const near = nearness(left, right, docids[at]!, byAttribute)
          if (near < FAR) costs[at] = base + near
        }
        return costs
      },
      narrowed: (to) => to.subset,
    },
    (cost, costMax) => ({ rule: 'proximity', rank: costMax - cost + 1, max: costMax + 1 }),
  )
}

/** 0 for neighbours in order, up to `FAR`. */
function nearness(left: Occurrences, right: Occurrences, docid: number, byAttribute: boolean): number {
  const lefts = occurrencesIn(left, docid, 'last')
  if (lefts.all.length === 0) return FAR
  const rights = occurrencesIn(right, docid, 'first')
  if (rights.all.length === 0) return FAR
  if (byAttribute) return shareField(lefts.all, rights.all) ? 0 : FAR
  const forward = leastDistance(lefts.all, rights.all) - 1
  if (forward === 0) return 0
  return Math.min(forward, leastDistance(rights.reversible, lefts.reversible), FAR)
}

interface NodeOccurrences {
  /** Ascending. */
  readonly all: Uint32Array
  /** Those that may also stand the other way round. */
  readonly reversible: Uint32Array
}

const NONE = new Uint32Array(0)

function occurrencesIn(occurrences: Occurrences, docid: number, side: 'first' | 'last'): NodeOccurrences {
  const reversible = listedIn(occurrences.words, docid)
  const others: Uint32Array[] = []
  const completions = listedIn(occurrences.completions, docid)
  if (completions.length > 0) others.push(completions)
  for (const phrase of occurrences.phrases)
    if (phrase.documents.has(docid)) others.push(listedIn(phrase[side], docid))
  if (others.length === 0) return { all: reversible, reversible }
  const all = new Uint32Array(others.reduce((sum, part) => sum + part.length, reversible.length))
  all.set(reversible)
  let filled = reversible.length
  for (const part of others) {
    all.set(part, filled)
    filled += part.length
  }
  return { all: all.sort(), reversible }
}

function listedIn(list: PostingList, docid: number): Uint32Array {
  if (list[0] === 0) return NONE
  const nth = find(list, docid)
  return nth === -1 ? NONE : list.subarray(occurrencesStart(list, nth), occurrencesEnd(list, nth))
}

/** Smallest way from one of `lefts` to a later one of `rights` in the same field. */
function leastDistance(lefts: Uint32Array, rights: Uint32Array): number {
  let least = Number.POSITIVE_INFINITY
  let next = 0
  for (const right of rights) {
    while (next < lefts.length && lefts[next]! < right) next++
    if (next === 0) continue
    const left = lefts[next - 1]!
    if (right - left < least && right >>> 16 === left >>> 16) least = right - left
  }
  return least
}

const shareField = (lefts: Uint32Array, rights: Uint32Array): boolean =>
  rights.some((right) => lefts.some((left) => left >>> 16 === right >>> 16))
