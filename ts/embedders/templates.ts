import { Liquid, type Template as Parsed } from 'liquidjs'
import { RENDER_MEMORY_MAX, RENDER_MS_MAX, TEMPLATE_CHARS_MAX } from './limits.js'

/** A template that does not parse, or one that fails on what it is given. */
export class TemplateError extends Error {
  override readonly name = 'TemplateError'
  readonly when: 'parsing' | 'rendering'

  constructor(when: 'parsing' | 'rendering', cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause))
    this.when = when
  }
}

/** A field of a document, as templates of documents see it. */
export interface TemplateField {
  readonly name: string
  readonly value: unknown
  readonly is_searchable: boolean
}

/** What a template may name. */
export type TemplateContext =
  | { readonly doc: Readonly<Record<string, unknown>>; readonly fields?: readonly TemplateField[] }
  | { readonly q?: unknown; readonly media?: unknown }

const liquid = new Liquid({
  // Naming what is not there is a mistake, save in a bare test such as `{% if doc.x %}`.
  strictVariables: true,
  strictFilters: true,
  lenientIf: true,
  ownPropertyOnly: true,
  // There are no partial files: without this, `include` would look for them on the disk.
  templates: {},
  parseLimit: TEMPLATE_CHARS_MAX,
  renderLimit: RENDER_MS_MAX,
  memoryLimit: RENDER_MEMORY_MAX,
  outputEscape: printed,
})
// Later additions of other dialects; the one of this API does not know them.
for (const tag of ['liquid', 'echo', '#', 'layout', 'block']) delete liquid.tags[tag]

/** Fields that templates do not see. */
const hiddenFields: ReadonlySet<string> = new Set(['_vectors', '_geo', '_geojson'])

/** @throws TemplateError */
export function renderText(template: string, context: TemplateContext): string {
  let parsed: Parsed[]
  try {
    parsed = liquid.parse(template)
  } catch (error) {
    throw new TemplateError('parsing', error)
  }
  try {
    return String(liquid.renderSync(parsed, context))
  } catch (error) {
    throw new TemplateError('rendering', error)
  }
}

/** A fragment: JSON in which every string is a template. @throws TemplateError */
export function renderFragment(fragment: unknown, context: TemplateContext): unknown {
  if (typeof fragment === 'string') return renderText(fragment, context)
  if (Array.isArray(fragment)) return fragment.map((one) => renderFragment(one, context))
  if (fragment === null || typeof fragment !== 'object') return fragment
  return Object.fromEntries(
    Object.entries(fragment).map(([name, value]) => [name, renderFragment(value, context)]),
  )
}

/** Checks every template of a fragment without running it. @throws TemplateError */
export function checkFragment(fragment: unknown): void {
  if (typeof fragment === 'string') {
    try {
      liquid.parse(fragment)
    } catch (error) {
      throw new TemplateError('parsing', error)
    }
  } else if (fragment !== null && typeof fragment === 'object') {
    for (const value of Object.values(fragment)) checkFragment(value)
  }
}

/**
 * What the templates of documents see of `document`.
 * @param searchable the searchable attributes of the index
 */
export function documentContext(
  document: Readonly<Record<string, unknown>>,
  searchable: readonly string[],
): TemplateContext {
  const seen = Object.entries(document).filter(([name]) => !hiddenFields.has(name))
  const isSearchable = (name: string): boolean => searchable.includes('*') || searchable.includes(name)
  return {
    doc: Object.fromEntries(seen),
    fields: seen.map(([name, value]) => ({ name, value, is_searchable: isSearchable(name) })),
  }
}

/** `text` cut to at most `bytesMax` bytes of UTF-8, at the end of a character. */
export function cutToBytes(text: string, bytesMax: number): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= bytesMax) return text
  let end = bytesMax
  // Bytes 10xxxxxx continue a character.
  while (end > 0 && (bytes[end]! & 0xc0) === 0x80) end -= 1
  return bytes.subarray(0, end).toString()
}

/** Values as templates print them: arrays and objects as all their parts, one after the other. */
function printed(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (Array.isArray(value)) return value.map(printed).join('')
  if (typeof value !== 'object') return String(value)
  return Object.entries(value)
    .map(([name, part]) => name + printed(part))
    .join('')
}
