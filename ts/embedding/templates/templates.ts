import { setImmediate as turn } from 'node:timers/promises'
import { Context, type Template } from 'liquidjs'
import { LRUCache } from 'lru-cache'
import { liquid, templatesOf } from '../../settings/index.js'
import {
  PARSED_CHARS_MAX,
  RENDER_CHARS_MAX,
  RENDER_MS_MAX,
  RENDERING_TURN_MS,
  STEPS_PER_CHECK,
} from '../limits.js'

/** A template that does not parse or fails to render. */
export class TemplateError extends Error {
  override readonly name = 'TemplateError'
  readonly when: 'parsing' | 'rendering'

  constructor(when: 'parsing' | 'rendering', cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause))
    this.when = when
  }
}

/** A field of a document in templates. */
interface TemplateField {
  readonly name: string
  readonly value: unknown
  readonly is_searchable: boolean
}

/** The values available to a template. */
export type TemplateContext =
  | { readonly doc: Readonly<Record<string, unknown>>; readonly fields?: readonly TemplateField[] }
  | { readonly q?: unknown; readonly media?: unknown }

/** Fields that are hidden from templates. */
const hiddenFields: ReadonlySet<string> = new Set(['_vectors', '_geo', '_geojson'])

/** A rendering with limits of time and output. All templates of a fragment share the limits. */
class Rendering {
  /** Milliseconds left, without pauses. */
  #msLeft = RENDER_MS_MAX
  #charsLeft: number
  readonly #cuts: boolean

  /**
   * @param charsMax characters of all output
   * @param cuts true to drop further output; false to fail the rendering
   */
  constructor(charsMax: number, cuts: boolean) {
    this.#charsLeft = charsMax
    this.#cuts = cuts
  }

  /** @throws TemplateError */
  async text(template: string, scope: TemplateContext): Promise<string> {
    const parsed = parsedTemplate(template)
    const output = { buffer: '', write: (html: unknown) => this.#write(output, String(html)) }
    // `sync`, because templates see no promises.
    const context = new Context(scope, liquid().options, { sync: true }, { liquid: liquid() })
    try {
      await this.#run(liquid().renderer.renderTemplates(parsed, context, output))
    } catch (error) {
      throw new TemplateError('rendering', error)
    }
    return output.buffer
  }

  #write(output: { buffer: string }, text: string): void {
    const taken = text.length <= this.#charsLeft ? text : text.slice(0, this.#charsLeft)
    if (taken !== text && !this.#cuts) throw new Error(`it makes more than ${RENDER_CHARS_MAX} characters`)
    this.#charsLeft -= taken.length
    output.buffer += taken
  }

  /**
   * Runs the generator of liquidjs, which yields generators for nested templates, with pauses for the event loop. Keeps
   * an explicit stack of open generators, so that the time can be checked inside any of them.
   */
  async #run(steps: Steps): Promise<void> {
    const open: Steps[] = [steps]
    let failed = false
    let value: unknown
    let since = performance.now()
    for (let step = 1; ; step++) {
      const current = open[open.length - 1]
      if (current === undefined) break
      try {
        const state = failed ? current.throw!(value) : current.next(value)
        failed = false
        value = state.value
        if (state.done) open.pop()
        if (isSteps(value)) {
          open.push(value)
          value = undefined
        }
      } catch (error) {
        open.pop()
        failed = true
        value = error
      }
      if (step % STEPS_PER_CHECK !== 0) continue
      const now = performance.now()
      if (now - since < Math.min(RENDERING_TURN_MS, this.#msLeft)) continue
      this.#msLeft -= now - since
      if (this.#msLeft <= 0) throw new Error(`it takes more than ${RENDER_MS_MAX} ms`)
      await turn()
      since = performance.now()
    }
    this.#msLeft -= performance.now() - since
    if (failed) throw value
  }
}

type Steps = Iterator<unknown, unknown, unknown>

/**
 * Returns true if a value is a generator, by the same test as liquidjs. Values of a document never are, as they have no
 * functions. The state of a loop has a function `next`, but not the others.
 */
function isSteps(value: unknown): value is Steps {
  if (typeof value !== 'object' || value === null) return false
  const { next, throw: fail, return: end } = value as Partial<Steps>
  return [next, fail, end].every((method) => typeof method === 'function')
}

/** Text → parsed template. A template is rendered for each document, and parsing takes as long as rendering. */
const parsedByText = new LRUCache<string, Template[]>({
  maxSize: PARSED_CHARS_MAX,
  sizeCalculation: (_, text) => text.length + 1,
})

function parsedTemplate(template: string): Template[] {
  const before = parsedByText.get(template)
  if (before !== undefined) return before
  try {
    const parsed = liquid().parse(template)
    parsedByText.set(template, parsed)
    return parsed
  } catch (error) {
    throw new TemplateError('parsing', error)
  }
}

/**
 * Renders a template to text, with pauses for the event loop.
 * @param bytesMax maximum bytes of UTF-8; a longer text is cut at the end of a character; null: not cut
 * @throws TemplateError if rendering fails or exceeds its limits of time, memory or output
 */
export async function renderText(
  template: string,
  context: TemplateContext,
  bytesMax: number | null,
): Promise<string> {
  // A text of `bytesMax` bytes has at most that many characters.
  const cutAt = bytesMax === null ? Number.POSITIVE_INFINITY : bytesMax
  const cuts = cutAt <= RENDER_CHARS_MAX
  const text = await new Rendering(Math.min(cutAt, RENDER_CHARS_MAX), cuts).text(template, context)
  return cutToBytes(text, cutAt)
}

/** Renders a fragment: JSON in which every string is a template. @throws TemplateError */
export async function renderFragment(fragment: unknown, context: TemplateContext): Promise<unknown> {
  requireFewTemplates(fragment)
  const rendering = new Rendering(RENDER_CHARS_MAX, false)
  const rendered = async (part: unknown): Promise<unknown> => {
    if (typeof part === 'string') return rendering.text(part, context)
    if (part === null || typeof part !== 'object') return part
    if (Array.isArray(part)) {
      const items: unknown[] = []
      for (const item of part) items.push(await rendered(item))
      return items
    }
    const entries: [string, unknown][] = []
    for (const [name, value] of Object.entries(part)) entries.push([name, await rendered(value)])
    return Object.fromEntries(entries)
  }
  return rendered(fragment)
}

/** Checks every template of a fragment without running it. @throws TemplateError */
export function checkFragment(fragment: unknown): void {
  for (const template of requireFewTemplates(fragment)) parsedTemplate(template)
}

/** Returns the templates of a fragment. @throws TemplateError if they exceed the limits */
function requireFewTemplates(fragment: unknown): readonly string[] {
  try {
    return templatesOf(fragment)
  } catch (error) {
    throw new TemplateError('parsing', error)
  }
}

/**
 * Returns the values that templates can use for `document`.
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

/** Cuts `text` to at most `bytesMax` bytes of UTF-8, at the end of a character. */
function cutToBytes(text: string, bytesMax: number): string {
  if (3 * text.length <= bytesMax) return text
  const bytes = Buffer.from(text)
  if (bytes.length <= bytesMax) return text
  let end = bytesMax
  // A byte 10xxxxxx continues a character.
  while (end > 0 && (bytes[end]! & 0xc0) === 0x80) end -= 1
  return bytes.subarray(0, end).toString()
}
