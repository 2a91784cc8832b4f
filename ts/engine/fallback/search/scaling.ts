/**
 * Scales documents by dynamic search rules.
 *
 * Source: the API's page on dynamic search rules of version 1.57.
 * 1. The weight of a document is the product of the weights of all actions that select it. Weight 0 hides it.
 * 2. Documents of the same weight are ranked together. The ranked parts are merged by score times weight.
 * 3. Equal documents come in docid order.
 */

import { EngineError } from '../../engine-error.js'
import type { Scale } from '../../requests.js'
import { SCALED_PARTS_MAX, TOTAL_WEIGHT_MAX, TOTAL_WEIGHT_MIN } from '../limits.js'
import type { OpenIndex } from '../open-index.js'
import {
  type BucketSortRequest,
  type BucketSortResult,
  bucketSort,
  compareValues,
  Distinct,
  globalScore,
  type Ranked,
  type ScoreDetail,
  scaleOf,
  valuesOf,
} from '../ranking/index.js'
import { DocSet } from '../store/docid-set.js'
import { type FilterContext, filteredDocuments } from './candidates.js'

/** Documents of the same weight. */
interface Part {
  readonly weight: number
  readonly documents: DocSet
}

/** An action, and the documents that it selects. */
interface AppliedScale {
  readonly scale: Scale
  readonly documents: DocSet
}

/** The weights of the documents of a search. */
export class Scaling {
  /** Documents of weight 0. */
  readonly hidden: DocSet
  readonly #parts: readonly Part[]
  readonly #applied: readonly AppliedScale[]

  private constructor(hidden: DocSet, parts: readonly Part[], applied: readonly AppliedScale[]) {
    this.hidden = hidden
    this.#parts = parts
    this.#applied = applied
  }

  /** Divides `documents` by their weights. @returns null without actions */
  static of(
    index: OpenIndex,
    scales: readonly Scale[],
    documents: DocSet,
    context: FilterContext,
  ): Scaling | null {
    if (scales.length === 0) return null
    const hidden = new DocSet(documents.words.length * 32)
    const applied: AppliedScale[] = []
    let parts: readonly Part[] = [{ weight: 1, documents: documents.clone() }]
    for (const scale of scales) {
      const selected = selectedBy(index, scale, context).intersect(documents)
      if (selected.isEmpty()) continue
      if (scale.weight === 0) {
        hidden.union(selected)
        continue
      }
      const next = divided(parts, selected, scale.weight)
      // Each part is ranked on its own.
      if (next.length > SCALED_PARTS_MAX) continue
      parts = next
      applied.push({ scale, documents: selected })
    }
    const clamped = byWeight(
      parts.map(({ weight, documents }) => ({
        weight: Math.min(Math.max(weight, TOTAL_WEIGHT_MIN), TOTAL_WEIGHT_MAX),
        documents: documents.subtract(hidden),
      })),
    )
    return new Scaling(hidden, clamped, applied)
  }

  /** Ranks documents like `bucketSort`, with scaled scores. */
  sort(request: BucketSortRequest): BucketSortResult {
    const sorted = this.#parts.flatMap(({ weight, documents }) => {
      const docids = request.docids.filter((docid) => documents.has(docid))
      return docids.length === 0 ? [] : [{ weight, documents, ...bucketSort({ ...request, docids }) }]
    })
    const lists = sorted.map(({ weight, ranked }) => ranked.map((hit) => this.#scaled(hit, weight)))
    const distinct = request.distinct === null ? null : new Distinct(request.distinct)
    return {
      ranked: mergedParts(lists, request.wanted, (docid) => distinct?.keep(docid) ?? true),
      isCandidate: (docid) =>
        sorted.find(({ documents }) => documents.has(docid))?.isCandidate(docid) === true &&
        distinct?.excludes(docid) !== true,
      degraded: sorted.some(({ degraded }) => degraded),
    }
  }

  /** Adds the detail about the actions that select a document, if any. */
  #scaled({ docid, details }: Ranked, totalWeight: number): Ranked {
    const actions = this.#applied
      .filter(({ documents }) => documents.has(docid))
      .map(({ scale: { ruleUid, weight } }) => ({ ruleUid, weight }))
    if (actions.length === 0) return { docid, details }
    const scale: ScoreDetail = { rule: 'scale', actions, totalWeight }
    return { docid, details: [scale, ...details] }
  }
}

/** Returns the documents that an action selects: none if its filter cannot be evaluated in this index. */
function selectedBy(index: OpenIndex, { ids, filter }: Scale, context: FilterContext): DocSet {
  const { docids, alive } = index.data
  const found = new DocSet(alive.words.length * 32)
  for (const id of ids) {
    const docid = docids.get(id)
    if (docid !== undefined) found.add(docid)
  }
  if (filter === null) return found
  try {
    const { foreignKeys: _keys, foreign: _foreign, ...own } = context
    return found.union(filteredDocuments(index, filter, own))
  } catch (error) {
    if (error instanceof EngineError) return found
    throw error
  }
}

/** Multiplies the weight of `selected` documents. */
function divided(parts: readonly Part[], selected: DocSet, weight: number): readonly Part[] {
  return byWeight(
    parts.flatMap((part) => {
      const inside = part.documents.clone().intersect(selected)
      if (inside.isEmpty()) return [part]
      const outside = part.documents.clone().subtract(inside)
      return [
        ...(outside.isEmpty() ? [] : [{ weight: part.weight, documents: outside }]),
        { weight: part.weight * weight, documents: inside },
      ]
    }),
  )
}

/** Joins parts of equal weight. */
function byWeight(parts: readonly Part[]): readonly Part[] {
  const found = new Map<number, DocSet>()
  for (const { weight, documents } of parts) {
    const known = found.get(weight)
    if (known === undefined) found.set(weight, documents.clone())
    else known.union(documents)
  }
  return Array.from(found, ([weight, documents]) => ({ weight, documents }))
}

interface Candidate {
  readonly hit: Ranked
  readonly values: ReturnType<typeof valuesOf>
  /** Total score times weight. */
  readonly score: number
}

/** Returns a negative number if `a` comes first. Hits without ranks are compared by weight. */
function compareCandidates(a: Candidate, b: Candidate): number {
  const order = compareValues(a, b)
  if (order !== 0) return order
  if (Math.abs(a.score - b.score) > Number.EPSILON) return b.score - a.score
  return a.hit.docid - b.hit.docid
}

function mergedParts(
  lists: readonly (readonly Ranked[])[],
  wanted: number,
  keep: (docid: number) => boolean,
): Ranked[] {
  const candidate = (hit: Ranked | undefined): Candidate | undefined =>
    hit && {
      hit,
      values: valuesOf(hit.details, 1),
      score: globalScore(hit.details) * scaleOf(hit.details),
    }
  const heads = lists.map((list) => candidate(list[0]))
  const next = lists.map(() => 1)
  const merged: Ranked[] = []
  while (merged.length < wanted) {
    let best: number | null = null
    for (const [at, head] of heads.entries())
      if (head !== undefined && (best === null || compareCandidates(head, heads[best]!) < 0)) best = at
    if (best === null) break
    const { hit } = heads[best]!
    heads[best] = candidate(lists[best]![next[best]!])
    next[best]!++
    if (keep(hit.docid)) merged.push(hit)
  }
  return merged
}
