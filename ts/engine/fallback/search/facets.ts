/**
 * Counts facet values of the candidates.
 *
 * Source: search §13.
 * 1. Spellings that differ only by case are the same value. It is displayed in the last spelling within the first
 *    candidate that has it.
 * 2. A document counts once per value.
 * 3. Numbers come before strings. By name: with few candidates numbers are sorted as text, with many as numbers.
 * 4. By count: the most common first, equal counts in descending value order (`commonest.ts`).
 * 5. A field of any document in the index is returned, even without a value among the candidates.
 * 6. The coordinates of `_geo` are facets of their own, `_geo.lat` and `_geo.lng`, if the settings use `_geo`.
 */
import type { FilterableRule } from '../../../settings/index.js'
import { EngineError } from '../../engine-error.js'
import type { Column } from '../facets/columns.js'
import { CommonestValues } from '../facets/commonest.js'
import { COORDINATES, columnOf } from '../facets/coordinates.js'
import { facetText } from '../fields/flatten.js'
import { covers, matchesPattern, patternsMeet } from '../fields/patterns.js'
import { describeFilterable, isFilterable, usesGeo } from '../fields/rules.js'
import type { OpenIndex } from '../open-index.js'
import type { DocSet } from '../store/docid-set.js'
import { floatText } from '../store/json.js'
import { compareUtf8 } from '../store/text-order.js'
import type { Bounds } from './bounds.js'

/** With more candidates than this, numbers are in numeric order. */
const MANY_CANDIDATES = 3000

/** A value and its number of documents. */
export interface FacetCount {
  readonly group: number
  readonly key: string
  readonly isNumber: boolean
  readonly count: number
}

/** Sorted fields that a `facets` list selects. @throws EngineError `invalid_search_facets` */
export function selectedFacets({ data }: OpenIndex, facets: readonly string[], prefix: string): string[] {
  const { settings } = data
  const known = [...data.columns.byPath].flatMap(([path, column]) => (column.exists.isEmpty() ? [] : [path]))
  const hasPoints = usesGeo(settings) && data.columns.points.some((point) => point !== undefined)
  const paths = [...known, ...(hasPoints ? COORDINATES.keys() : [])].filter((path) =>
    isFilterable(settings, path),
  )
  const selected = new Set<string>()
  for (const facet of facets) {
    const found = paths.filter(
      (path) => matchesPattern(facet, path) || (!facet.includes('*') && path.startsWith(`${facet}.`)),
    )
    if (!settings.filterableAttributes.some((rule) => mayHaveFacets(rule, facet)))
      throw new EngineError(
        'invalid_search_facets',
        `${prefix}Attribute \`${facet}\` is not filterable and has no facets. ${describeFilterable(settings)}`,
      )
    for (const path of found) selected.add(path)
  }
  return [...selected].sort(compareUtf8)
}

/** Returns true if a field could match both a filterable rule and the requested `facet`. */
function mayHaveFacets(rule: FilterableRule, facet: string): boolean {
  // A name is taken literally, even `*`.
  if (typeof rule === 'string')
    return (
      matchesPattern(facet, rule) ||
      (facet.includes('*') && patternsMeet(facet, `${rule}.*`)) ||
      covers(facet, rule) ||
      covers(rule, facet)
    )
  const { equality, comparison } = rule.features.filter
  if (!equality && !comparison) return false
  return rule.attributePatterns.some(
    (pattern) => patternsMeet(facet, pattern) || patternsMeet(`${facet}.*`, pattern),
  )
}

/** `,"facetDistribution":…,"facetStats":…` */
export function facetsJson(
  index: OpenIndex,
  facets: readonly string[],
  documents: DocSet,
  prefix: string,
  bounds: Bounds,
): string {
  const { distribution, stats } = facetParts(index, facets, { documents, found: documents }, prefix, bounds)
  return `,"facetDistribution":${distribution},"facetStats":${stats}`
}

/** Returns both objects as JSON text. Counts are over `documents`, minimum and maximum over `found`, a superset. */
export function facetParts(
  index: OpenIndex,
  facets: readonly string[],
  { documents, found }: { readonly documents: DocSet; readonly found: DocSet },
  prefix: string,
  bounds: Bounds,
): { distribution: string; stats: string } {
  const { settings, columns } = index.data
  const distributions: string[] = []
  const stats: string[] = []
  const docids = documents.toArray()
  const all = found === documents ? docids : found.toArray()
  for (const field of selectedFacets(index, facets, prefix)) {
    const column = columnOf(columns, field)!
    const order = facetOrder(settings.faceting.sortFacetValuesBy, field)
    const most = settings.faceting.maxValuesPerFacet
    const counts = countFacet(column, docids, order, most)
    distributions.push(bounds.counted(`${JSON.stringify(field)}:${countsJson(counts)}`))
    const range = statsOf(column, all)
    if (range !== null)
      stats.push(`${JSON.stringify(field)}:{"min":${floatText(range.min)},"max":${floatText(range.max)}}`)
  }
  return { distribution: `{${distributions.join(',')}}`, stats: `{${stats.join(',')}}` }
}

/** The most common values over `docids`, numbers first. */
function commonest(
  column: Column,
  docids: Uint32Array,
  counts: readonly FacetCount[],
  most: number,
): FacetCount[] {
  const ranks = column.liveRanks
  const [numbers, strings] = [new CommonestValues(ranks.numbers), new CommonestValues(ranks.strings)]
  for (const docid of docids) {
    const seen = new Set(column.entries(docid).map((entry) => column.groupOf[entry]!))
    for (const group of seen) (column.isNumber(group) ? numbers : strings).see(ranks.ofGroup[group]!, docid)
  }
  const [numberAt, stringAt] = [new Map<number, FacetCount>(), new Map<number, FacetCount>()]
  for (const count of counts) (count.isNumber ? numberAt : stringAt).set(ranks.ofGroup[count.group]!, count)
  const first = numbers.first(most).map((place) => numberAt.get(place)!)
  return shownOf(
    first,
    strings.first(most + first.length).map((place) => stringAt.get(place)!),
    most,
  )
}

/** The first `most` values of both. A string that prints like a listed number takes no extra place. */
function shownOf(numbers: readonly FacetCount[], strings: readonly FacetCount[], most: number): FacetCount[] {
  const shown = numbers.slice(0, most)
  const names = new Set(shown.map(({ key }) => key))
  for (const value of strings) {
    if (names.size === most && !names.has(value.key)) break
    names.add(value.key)
    shown.push(value)
  }
  return shown
}

export const facetOrder = (
  orders: Readonly<Record<string, 'alpha' | 'count'>>,
  field: string,
): 'alpha' | 'count' => (Object.hasOwn(orders, field) ? orders[field]! : (orders['*'] ?? 'alpha'))

/** A string that prints like a number replaces the number and its count. */
export function countsJson(counts: readonly FacetCount[]): string {
  const entries = new Map<string, number>()
  for (const { key, count } of counts) entries.set(key, count)
  return `{${Array.from(entries, ([key, count]) => `${JSON.stringify(key)}:${count}`).join(',')}}`
}

/** Formats numbers as object keys: plain decimals, never with an exponent. */
function numberKey(value: number): string {
  if (Object.is(value, -0)) return '-0'
  const text = String(value)
  const [mantissa, exponentText] = text.split('e')
  if (exponentText === undefined) return text
  const exponent = Number(exponentText)
  const sign = value < 0 ? '-' : ''
  const digits = mantissa!.replace('-', '').replace('.', '')
  return exponent < 0
    ? `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`
    : `${sign}${digits.padEnd(exponent + 1, '0')}`
}

/** Counts the values of a column over candidates, sorted and truncated. @param docids ascending */
export function countFacet(
  column: Column,
  docids: Uint32Array,
  order: 'alpha' | 'count',
  most: number,
): FacetCount[] {
  const counts = new Uint32Array(column.groups)
  const lastSeen = new Int32Array(column.groups).fill(-1)
  const spelling = new Int32Array(column.groups).fill(-1)
  const groups: number[] = []
  const note = (entry: number, docid: number): void => {
    const group = column.groupOf[entry]!
    if (lastSeen[group] === docid) {
      if (counts[group] === 1) spelling[group] = entry
      return
    }
    lastSeen[group] = docid
    if (counts[group] === 0) {
      groups.push(group)
      spelling[group] = entry
    }
    counts[group] = counts[group]! + 1
  }
  for (const docid of docids) {
    const row = column.at(docid)
    if (row === undefined) continue
    if (typeof row === 'number') note(row, docid)
    else for (const entry of row) note(entry, docid)
  }
  const numbers: FacetCount[] = []
  const strings: FacetCount[] = []
  for (const group of groups) {
    const isNumber = column.isNumber(group)
    const key = isNumber ? numberKey(column.numbers[group]!) : facetText(column.spelling[spelling[group]!]!)
    ;(isNumber ? numbers : strings).push({ group, key, isNumber, count: counts[group]! })
  }
  if (order === 'count') return commonest(column, docids, [...numbers, ...strings], most)
  const ranks = column.ranks
  const byRank = (a: FacetCount, b: FacetCount): number => ranks[a.group]! - ranks[b.group]!
  if (docids.length > MANY_CANDIDATES) numbers.sort(byRank)
  else numbers.sort((a, b) => compareUtf8(a.key, b.key))
  strings.sort(byRank)
  return shownOf(numbers, strings, most)
}

/** Minimum and maximum number of a column over candidates; null without numbers. */
export function statsOf(
  column: Column,
  docids: Uint32Array,
): { readonly min: number; readonly max: number } | null {
  let min = Number.POSITIVE_INFINITY
  let max = Number.NEGATIVE_INFINITY
  const note = (entry: number): void => {
    const value = column.numbers[column.groupOf[entry]!]!
    // NaN for a string.
    if (Number.isNaN(value)) return
    // Minus zero is less than zero.
    min = Math.min(min, value)
    max = Math.max(max, value)
  }
  for (const docid of docids) {
    const row = column.at(docid)
    if (typeof row === 'number') note(row)
    else if (row !== undefined) for (const entry of row) note(entry)
  }
  return min > max ? null : { min, max }
}
