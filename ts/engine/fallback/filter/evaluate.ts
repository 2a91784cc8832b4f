/**
 * Evaluates filters.
 *
 * Source: search §12.3–12.4.
 * 1. A document matches a condition if any of its values matches.
 * 2. `NOT` and `!=` are complements within all documents.
 * 3. A condition on a field that no document has matches nothing, even with `!=`; its negation with `NOT` matches
 *    everything.
 */

import { clientMessages } from '../../../errors/index.js'
import { type Area, anyMeets, boxAreas, circleAreas, polygonAreas } from '../facets/areas.js'
import type { Column } from '../facets/columns.js'
import { columnOf } from '../facets/coordinates.js'
import { metresBetween } from '../facets/geo.js'
import { operandForm } from '../fields/flatten.js'
import { describeFilterable, filterFeatures, usesGeo, usesGeojson } from '../fields/rules.js'
import type { FilterView } from '../index-data/index-data.js'
import { DocSet } from '../store/docid-set.js'
import { compareUtf8 } from '../store/text-order.js'
import { type Embedder, embeddersOf, type VectorState } from '../vector/index.js'
import { documentsByElement } from './elements.js'
import { FilterError } from './error.js'
import { numberIn } from './parse.js'
import type { Condition, Filter, LatLng, Span } from './tree.js'

/**
 * Returns the matching documents.
 * @param check throws if the request is cancelled or out of time
 * @throws FilterError if the settings do not allow a field or an operator
 */
export function documentsMatching(index: FilterView, filter: Filter, check: () => void): DocSet {
  check()
  const evaluate = (view: FilterView, inner: Filter): DocSet => documentsMatching(view, inner, check)
  switch (filter.kind) {
    case 'and': {
      const found = index.alive.clone()
      const items = distinctItems(filter.items)
      for (const item of items)
        if (item.kind !== 'element') found.intersect(documentsMatching(index, item, check))
      // Evaluate elements last: only the remaining documents are read.
      for (const item of items)
        if (item.kind === 'element')
          found.intersect(documentsByElement(index, item, { evaluate, within: found, check }))
      return found
    }
    case 'or': {
      const found = new DocSet(index.alive.words.length * 32)
      for (const item of distinctItems(joinedEqualities(filter.items)))
        found.union(documentsMatching(index, item, check))
      return found
    }
    case 'not':
      return index.alive.clone().subtract(documentsMatching(index, filter.item, check))
    case 'condition':
      return conditionMatches(index, filter.field, filter.condition, filter.at)
    case 'radius': {
      const { center, metres, corners, fault } = filter
      requireGeo(index, filter.at)
      if (fault !== null) throw fault
      return pointsWhere(index, (point) => metresBetween(center, point) <= metres).union(
        shapesMeeting(index, circleAreas(center, metres, corners), check),
      )
    }
    case 'box': {
      const { topRight, bottomLeft, fault } = filter
      requireGeo(index, filter.at)
      if (fault !== null) throw fault
      return pointsWhere(index, inBox(topRight, bottomLeft)).union(
        shapesMeeting(index, boxAreas(topRight, bottomLeft), check),
      )
    }
    case 'vectors':
      return withVectors(index, filter.names, filter.at)
    case 'polygon':
      if (!usesGeojson(index.settings)) throw notFilterable(index, '_geojson', filter.at)
      if (filter.fault !== null) throw filter.fault
      return shapesMeeting(index, polygonAreas(filter.corners), check)
    case 'element':
      return documentsByElement(index, filter, { evaluate, within: index.alive, check })
    case 'foreign':
      throw new FilterError('`_foreign` cannot be used here', filter.at)
  }
}

/** Returns documents with vectors of one embedder or of all. Source: vectors §9.1. */
function withVectors(index: FilterView, [wanted, ...kind]: readonly string[], at: Span): DocSet {
  const found = new DocSet(index.alive.words.length * 32)
  const embedders = embeddersOf(index.settings)
  if (wanted !== undefined && !embedders.has(wanted))
    throw new FilterError(`there is no embedder named \`${wanted}\``, at)
  for (const embedder of embedders.values()) {
    if (wanted !== undefined && wanted !== embedder.name) continue
    const isWanted = ofKind(kind, embedder, at)
    for (const [docid, state] of index.vectorStates(embedder.name)) if (isWanted(state)) found.add(docid)
  }
  return found.intersect(index.alive)
}

/**
 * Returns a predicate for the documents that a condition on vectors selects.
 * @param names names after the one of the embedder
 */
function ofKind(
  names: readonly string[],
  { name, fragments }: Embedder,
  at: Span,
): (state: VectorState) => boolean {
  const [kind, fragment] = names
  if (kind === undefined) return ({ count }) => count > 0
  if (kind === 'fragments' && fragment !== undefined && names.length === 2) {
    const number = fragments?.get(fragment)
    if (number === undefined)
      throw new FilterError(`the embedder \`${name}\` has no fragment named \`${fragment}\``, at)
    return (state) => state.fragments?.includes(number) === true
  }
  if (names.length === 1 && kind === 'userProvided') return ({ userProvided }) => userProvided
  // An embedder with fragments makes all vectors from them, and none from a template.
  if (names.length === 1 && kind === 'documentTemplate')
    return ({ count, userProvided }) => count > 0 && !userProvided && fragments === null
  if (names.length === 1 && kind === 'regenerate')
    return ({ count, skipRegenerate }) => count > 0 && !skipRegenerate
  throw new FilterError(
    'expected one of `userProvided`, `documentTemplate`, `regenerate` or `fragments.NAME` after the name of an embedder',
    at,
  )
}

/** Removes duplicate conditions: each condition of a long list would scan the column. */
function distinctItems(items: readonly Filter[]): readonly Filter[] {
  const known = new Set<string>()
  return items.filter((item) => {
    if (item.kind !== 'condition') return true
    const key = JSON.stringify([item.field, item.condition])
    if (known.has(key)) return false
    known.add(key)
    return true
  })
}

/** Merges the equalities of each field into one list, so that its column is scanned once. */
function joinedEqualities(items: readonly Filter[]): readonly Filter[] {
  const values = new Map<string, string[]>()
  const joined: Filter[] = []
  for (const item of items) {
    const wanted = item.kind === 'condition' ? equalitiesOf(item.condition) : null
    if (item.kind !== 'condition' || wanted === null) {
      joined.push(item)
      continue
    }
    const known = values.get(item.field)
    if (known !== undefined) {
      for (const value of wanted) known.push(value)
      continue
    }
    const list = [...wanted]
    values.set(item.field, list)
    joined.push({ ...item, condition: { kind: 'in', values: list } })
  }
  return joined
}

function equalitiesOf(condition: Condition): readonly string[] | null {
  if (condition.kind === 'in') return condition.values
  return condition.kind === 'compare' && condition.op === '=' ? [condition.value] : null
}

function requireGeo(index: FilterView, at: Span): void {
  if (!index.settings.filterableAttributes.includes('_geo') && !usesGeojson(index.settings))
    throw notFilterable(index, '_geo', at)
}

function pointsWhere(index: FilterView, holds: (point: LatLng) => boolean): DocSet {
  const found = new DocSet(index.alive.words.length * 32)
  if (!usesGeo(index.settings) || !index.settings.filterableAttributes.includes('_geo')) return found
  for (const [docid, point] of index.columns.points.entries())
    if (point !== undefined && holds(point)) found.add(docid)
  return found.intersect(index.alive)
}

function shapesMeeting(index: FilterView, areas: readonly Area[], check: () => void): DocSet {
  const found = new DocSet(index.alive.words.length * 32)
  if (!usesGeojson(index.settings)) return found
  for (const [docid, shapes] of index.columns.shapes.entries())
    if (shapes !== undefined && anyMeets(shapes, areas, check)) found.add(docid)
  return found.intersect(index.alive)
}

/** Borders are inside. A box with its right edge west of its left edge crosses the antimeridian. */
function inBox([top, right]: LatLng, [bottom, left]: LatLng): (point: LatLng) => boolean {
  return ([lat, lng]) =>
    lat <= top && lat >= bottom && (right < left ? lng >= left || lng <= right : lng >= left && lng <= right)
}

const notFilterable = ({ settings }: FilterView, field: string, at: Span): FilterError =>
  new FilterError(clientMessages.notFilterable(field, describeFilterable(settings)), at)

function conditionMatches(index: FilterView, field: string, condition: Condition, at: Span): DocSet {
  const features = filterFeatures(index.settings, field)
  if (features === null || (!features.equality && !features.comparison)) throw notFilterable(index, field, at)
  const equality = condition.kind === 'in' || (condition.kind === 'compare' && /^!?=$/.test(condition.op))
  const comparison = condition.kind === 'between' || (condition.kind === 'compare' && !equality)
  const refused = equality && !features.equality ? 'equality' : 'comparison'
  if ((equality && !features.equality) || (comparison && !features.comparison))
    throw new FilterError(
      `attribute \`${field}\` does not allow ${refused} operators: its rule in \`filterableAttributes\` has ` +
        `\`${refused}\` switched off`,
      at,
      'disabledOperator',
    )
  const column = columnOf(index.columns, field)
  const none = new DocSet(index.alive.words.length * 32)
  if (column === undefined || column.exists.isEmpty()) return none
  if (condition.kind === 'compare' && condition.op === '!=')
    return index.alive.clone().subtract(valuesMatch(column, { ...condition, op: '=' }))
  return none.union(valuesMatch(column, condition)).intersect(index.alive)
}

function valuesMatch(column: Column, condition: Condition): DocSet {
  switch (condition.kind) {
    case 'exists':
      return column.exists
    case 'null':
      return column.isNull
    case 'empty':
      return column.isEmpty
    case 'in':
      return column.documentsWith(equalTo(column, condition.values))
    case 'between':
      return column.documentsWith(between(column, condition.from, condition.to))
    case 'contains': {
      const part = operandForm(condition.value)
      return column.documentsWith(groupsWhere(column, null, (form) => form.includes(part)))
    }
    case 'startsWith': {
      const prefix = operandForm(condition.value)
      if (prefix === '') return column.exists
      return column.documentsWith(groupsWhere(column, null, (form) => form.startsWith(prefix)))
    }
    case 'compare':
      return column.documentsWith(
        condition.op === '='
          ? equalTo(column, [condition.value])
          : ordered(column, condition.op, condition.value),
      )
  }
}

function equalTo(column: Column, values: readonly string[]): Uint8Array {
  const wanted = new Uint8Array(column.groups)
  for (const value of values) {
    const number = numberIn(value)
    if (number !== null) for (const group of column.groupsOfNumber(number)) wanted[group] = 1
    const form = column.groupOfForm(operandForm(value))
    if (form !== undefined) wanted[form] = 1
  }
  return wanted
}

function groupsWhere(
  column: Column,
  numberHolds: ((value: number) => boolean) | null,
  formHolds: (form: string) => boolean,
): Uint8Array {
  const wanted = new Uint8Array(column.groups)
  for (let group = 0; group < wanted.length; group++) {
    const holds = column.isNumber(group)
      ? numberHolds?.(column.numbers[group]!) === true
      : formHolds(column.forms[group]!)
    if (holds) wanted[group] = 1
  }
  return wanted
}

function between(column: Column, from: string, to: string): Uint8Array {
  const [low, high] = [numberIn(from), numberIn(to)]
  const [lowForm, highForm] = [operandForm(from), operandForm(to)]
  return groupsWhere(
    column,
    low === null || high === null ? null : (value) => value >= low && value <= high,
    (form) => compareUtf8(form, lowForm) >= 0 && compareUtf8(form, highForm) <= 0,
  )
}

function ordered(column: Column, op: '!=' | '>' | '>=' | '<' | '<=', value: string): Uint8Array {
  const number = numberIn(value)
  const operand = operandForm(value)
  const holds = (order: number): boolean =>
    op === '>' ? order > 0 : op === '>=' ? order >= 0 : op === '<' ? order < 0 : order <= 0
  return groupsWhere(column, number === null ? null : (candidate) => holds(candidate - number), (form) =>
    holds(compareUtf8(form, operand)),
  )
}
