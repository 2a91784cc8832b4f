/**
 * Writes highlighted and cropped texts of hits.
 *
 * Source: search §16.
 * 1. Named fields are formatted with all nested fields; retrieved fields are included unformatted.
 * 2. Numbers become strings, booleans and null are unchanged; each leaf is cropped separately.
 * 3. Any displayed field is highlighted, searchable or not.
 * 4. Positions are byte offsets in the original text, even if it is cropped.
 */
import type { SearchRequest } from '../../../requests.js'
import { Tokenizer } from '../../analysis/tokenize.js'
import { leafText } from '../../fields/flatten.js'
import { covers } from '../../fields/patterns.js'
import { displaysEverything, isInReserved, localesOf } from '../../fields/rules.js'
import type { OpenIndex } from '../../open-index.js'
import { type Json, JsonNumber, type JsonObject, writeJson } from '../../store/json.js'
import { compareUtf8 } from '../../store/text-order.js'
import type { Bounds } from '../bounds.js'
import type { Candidates } from '../candidates.js'
import { selectPaths } from '../projection.js'
import { cropWindow } from './crop.js'
import { QueryPatterns, type TextMatch } from './matches.js'

/** Highlighted matches between two checks of the answer size. */
const MATCHES_PER_CHECK = 1_000

/** Format of a field and everything below it. */
interface FieldFormat {
  readonly path: string
  readonly highlight: boolean
  /** Number of words to keep; null for all. */
  readonly crop: number | null
}

/** An item of `_matchesPosition`, in bytes of UTF-8. */
interface MatchPosition {
  readonly start: number
  readonly length: number
  readonly indices?: readonly number[]
}

/** Writes `_formatted` and `_matchesPosition`. */
export class Formatter {
  private readonly request: SearchRequest
  private readonly index: OpenIndex
  private readonly retrieved: readonly string[] | null
  private readonly patterns: QueryPatterns
  private readonly tokenizer: Tokenizer
  private readonly locales: readonly string[]
  private readonly formatsFields: boolean
  private readonly bounds: Bounds

  constructor(
    index: OpenIndex,
    request: SearchRequest,
    candidates: Candidates,
    retrieved: readonly string[] | null,
    bounds: Bounds,
  ) {
    this.bounds = bounds
    this.index = index
    this.request = request
    this.retrieved = retrieved
    this.formatsFields =
      (request.attributesToHighlight?.length ?? 0) > 0 || (request.attributesToCrop?.length ?? 0) > 0
    this.patterns = new QueryPatterns(this.isRequested ? (candidates.query?.graph ?? null) : null)
    this.locales = candidates.locales
    // Highlighting ignores stop words: a phrase with a stop word is never marked.
    this.tokenizer = index.cache.get(
      'tokenizers',
      '',
      () => new Tokenizer({ ...index.data.settings, stopWords: [] }, index.data.tokenizer.dictionaries),
    )
  }

  /** True if hits have any of these keys. */
  get isRequested(): boolean {
    return this.formatsFields || this.request.showMatchesPosition
  }

  /**
   * Returns the keys of a hit, as JSON text.
   * @param displayed the displayed part of the document
   * @param finish transforms the formatted document before it is written
   */
  parts(displayed: JsonObject, finish: (formatted: JsonObject) => JsonObject): string[] {
    if (!this.isRequested) return []
    const formats = this.formatsFields ? this.formatsFor(displayed) : []
    const resolved = formats.length > 0 || (this.formatsFields && this.formatsAllFields)
    const parts: string[] = []
    const positions = new Map<string, MatchPosition[]>()
    const formatted = this.object(displayed, '', [], formats, positions)
    if (resolved) {
      const paths = formats.map(({ path }) => path)
      parts.push(`"_formatted":${writeJson(finish(selectPaths(formatted, paths)))}`)
    }
    if (this.request.showMatchesPosition) parts.push(`"_matchesPosition":${positionsJson(positions)}`)
    return parts
  }

  /** Formats of the fields named in the request, then of other retrieved fields; empty if no document had a named one. */
  private formatsFor(displayed: JsonObject): FieldFormat[] {
    const { attributesToHighlight, attributesToCrop, cropLength } = this.request
    const formats = new Map<string, { highlight: boolean; crop: number | null }>()
    const at = (path: string) => {
      let format = formats.get(path)
      if (format === undefined) {
        format = { highlight: false, crop: null }
        formats.set(path, format)
      }
      return format
    }
    const expand = (name: string): readonly string[] =>
      name === '*' ? (this.showsSomething ? [...displayed.keys()] : []) : this.isDisplayed(name) ? [name] : []
    for (const name of attributesToHighlight ?? []) for (const path of expand(name)) at(path).highlight = true
    for (const entry of attributesToCrop ?? []) {
      const { name, length } = cropEntry(entry, cropLength)
      for (const path of expand(name)) at(path).crop ??= length
    }
    if (formats.size === 0) return []
    for (const path of this.retrieved ?? displayed.keys()) at(path)
    return Array.from(formats, ([path, format]) => ({ path, ...format }))
  }

  /** True if all fields are to be formatted. */
  private get formatsAllFields(): boolean {
    const { attributesToHighlight, attributesToCrop, cropLength } = this.request
    const all =
      attributesToHighlight?.includes('*') === true ||
      attributesToCrop?.some((entry) => cropEntry(entry, cropLength).name === '*') === true
    return all && this.showsSomething
  }

  /** True if any document has had a displayed field. */
  private get showsSomething(): boolean {
    const { settings } = this.index.data
    return displaysEverything(settings) || settings.displayedAttributes.some((name) => this.isKnown(name))
  }

  private isKnown(name: string): boolean {
    return this.index.data.fieldIds.has(name) && !isInReserved(name)
  }

  private isDisplayed(name: string): boolean {
    const { settings } = this.index.data
    if (!this.isKnown(name)) return false
    return (
      displaysEverything(settings) ||
      settings.displayedAttributes.some((entry) => covers(entry, name) || covers(name, entry))
    )
  }

  private object(
    object: JsonObject,
    prefix: string,
    indices: readonly number[],
    formats: readonly FieldFormat[],
    positions: Map<string, MatchPosition[]>,
  ): JsonObject {
    const formatted: JsonObject = new Map()
    for (const [name, value] of object)
      formatted.set(name, this.value(value, prefix + name, indices, formats, positions))
    return formatted
  }

  private value(
    value: Json,
    path: string,
    indices: readonly number[],
    formats: readonly FieldFormat[],
    positions: Map<string, MatchPosition[]>,
  ): Json {
    if (Array.isArray(value))
      return value.map((item, at) => this.value(item, path, [...indices, at], formats, positions))
    if (value instanceof Map) return this.object(value, `${path}.`, indices, formats, positions)
    if (typeof value !== 'string' && !(value instanceof JsonNumber)) return value
    return this.text(leafText(value)!, path, indices, formats, positions)
  }

  private text(
    text: string,
    path: string,
    indices: readonly number[],
    formats: readonly FieldFormat[],
    positions: Map<string, MatchPosition[]>,
  ): string {
    const own = formats.filter((format) => covers(format.path, path) || covers(path, format.path))
    const highlight = own.some((format) => format.highlight)
    const crop = own.find((format) => format.crop !== null)?.crop ?? null
    const { showMatchesPosition } = this.request
    if (!highlight && crop === null && !showMatchesPosition) return text
    const locales = localesOf(this.index.data.settings, path) ?? this.locales
    const tokens = this.tokenizer.tokenize(text, locales)
    const matches = this.patterns.find(text, tokens)
    // Source: recorded answers. For an array, only the last element with a match is reported.
    if (showMatchesPosition && matches.length > 0) positions.set(path, bytePositions(text, matches, indices))
    const window =
      crop === null || crop === 0 ? { start: 0, end: text.length } : cropWindow(tokens, matches, crop)
    return this.rendered(text, window, highlight ? matches : [])
  }

  private rendered(
    text: string,
    window: { readonly start: number; readonly end: number },
    matches: readonly TextMatch[],
  ): string {
    const { cropMarker, highlightPreTag, highlightPostTag } = this.request
    let rendered = window.start > 0 ? cropMarker : ''
    let at = window.start
    let matchCount = 0
    for (const match of matches) {
      const [start, end] = [Math.max(match.start, window.start), Math.min(match.end, window.end)]
      if (start >= end) continue
      if (++matchCount % MATCHES_PER_CHECK === 0) this.bounds.check(rendered.length)
      rendered += text.slice(at, start) + highlightPreTag + text.slice(start, end) + highlightPostTag
      at = end
    }
    return rendered + text.slice(at, window.end) + (window.end < text.length ? cropMarker : '')
  }
}

/** By attribute, sorted by name. */
function positionsJson(positions: ReadonlyMap<string, readonly MatchPosition[]>): string {
  const entries = [...positions].sort(([a], [b]) => compareUtf8(a, b))
  return `{${entries.map(([path, found]) => `${JSON.stringify(path)}:${JSON.stringify(found)}`).join(',')}}`
}

/** Parses `attr` or `attr:length`. The text after the last colon only counts as a length if it is a number. */
function cropEntry(entry: string, cropLength: number): { name: string; length: number } {
  const colon = entry.lastIndexOf(':')
  if (colon === -1) return { name: entry, length: cropLength }
  const suffix = entry.slice(colon + 1)
  return { name: entry.slice(0, colon), length: /^\+?\d+$/.test(suffix) ? Number(suffix) : cropLength }
}

/** @param matches in order of position, so that each part of the text is counted once */
function bytePositions(
  text: string,
  matches: readonly TextMatch[],
  indices: readonly number[],
): MatchPosition[] {
  let [at, bytes] = [0, 0]
  return matches.map(({ start, end }) => {
    bytes += Buffer.byteLength(text.slice(at, start))
    at = start
    const position = { start: bytes, length: Buffer.byteLength(text.slice(start, end)) }
    return indices.length === 0 ? position : { ...position, indices }
  })
}
