/** Merges ranked lists, with each document once. */
import type { FederationRequest } from '../../../requests.js'
import { columnOf } from '../../facets/coordinates.js'
import type { OpenIndex } from '../../open-index.js'
import { compareValues, globalScore, scaleOf, valuesOf } from '../../ranking/index.js'
import { interleaved } from '../interleave.js'
import { pinOf } from '../pins.js'
import type { Candidate, RankedQuery } from './query.js'

/** Returns a negative number if `a` comes first. */
const compareCandidates = (a: Candidate, b: Candidate): number =>
  compareValues(a, b) || a.query.position - b.query.position

interface Dropped {
  readonly index: OpenIndex
  readonly docid: number
}

export function merged(
  queries: readonly RankedQuery[],
  federation: FederationRequest,
  from: number,
  to: number,
): { page: Candidate[]; dropped: Dropped[] } {
  const candidates = queries.map((query) => {
    const distinctOf = distinctValues(query.index, federation.distinct)
    return query.found.ranked.map((ranked) => ({
      query,
      ranked,
      values: valuesOf(ranked.details, query.weight),
      score: globalScore(ranked.details) * (query.weight * scaleOf(ranked.details)),
      distinct: distinctOf(ranked.docid),
    }))
  })
  const lists = candidates.map((list) => list.filter(({ ranked }) => pinOf(ranked) === null))
  const next = lists.map(() => 0)
  const seen = new Map<OpenIndex, Set<number>>(queries.map(({ index }) => [index, new Set()]))
  const taken = new Set<number | string>()
  const dropped: Dropped[] = []
  /** Returns true if neither the document nor any of its distinct values is already listed. */
  const admits = ({ query: { index }, ranked: { docid }, distinct }: Candidate): boolean => {
    const known = seen.get(index)!
    if (known.has(docid)) return false
    known.add(docid)
    if (distinct.some((value) => taken.has(value))) {
      dropped.push({ index, docid })
      return false
    }
    for (const value of distinct) taken.add(value)
    return true
  }
  const place = ({ ranked }: Candidate): number => pinOf(ranked) ?? 0
  const pins = candidates
    .flat()
    .filter(({ ranked }) => pinOf(ranked) !== null)
    .filter(admits)
    .sort((a, b) => place(a) - place(b))
  const merged: Candidate[] = []
  while (merged.length < to) {
    let best: Candidate | undefined
    for (const [at, list] of lists.entries()) {
      const head = list[next[at]!]
      if (head !== undefined && (best === undefined || compareCandidates(head, best) < 0)) best = head
    }
    if (best === undefined) break
    next[best.query.position]!++
    if (admits(best)) merged.push(best)
  }
  return { page: interleaved(pins, merged, to, place).slice(from, to), dropped }
}

/** Returns a function that reads the values of the distinct attribute of a document. */
function distinctValues(
  { data }: OpenIndex,
  field: string | null,
): (docid: number) => readonly (number | string)[] {
  const column = field === null ? undefined : columnOf(data.columns, field)
  if (column === undefined) return () => []
  return (docid) =>
    column.entries(docid).map((entry) => {
      const group = column.groupOf[entry]!
      return column.isNumber(group) ? column.numbers[group]! : column.forms[group]!
    })
}
