/**
 * The Liquid dialect for templates of embedders and chats, with bounded memory and time.
 *
 * The library charges the memory of most filters to a budget of the rendering. This module charges the rest: captured
 * output, lists that filters convert to text, filters that lengthen text, and searches for long patterns, whose time is
 * proportional to the product of both lengths. Source of tags and filters: vectors §3.1.
 */
import { type Context, defaultOperators, type Emitter, Liquid, type Template } from 'liquidjs'
import {
  FRAGMENT_CHARS_MAX,
  FRAGMENT_TEMPLATES_MAX,
  RENDER_MEMORY_MAX,
  SEARCH_STEPS_PER_UNIT,
  TEMPLATE_CHARS_MAX,
} from './limits.js'
import { IfChanged, StrictIf, StrictUnless } from './liquid-tags.js'

/** The memory and time of a filter. */
interface FilterCost {
  /** Units of the budget per character of its input. */
  readonly perChar: number
  /** True if the filter searches the input for its first argument. */
  readonly searches?: true
}

const plain: FilterCost = { perChar: 0 }
/** A filter that splits its input into a list. Each member takes the memory of a few characters. */
const splitting: FilterCost = { perChar: 4, searches: true }

const filters: Readonly<Record<string, FilterCost>> = {
  abs: plain,
  append: plain,
  at_least: plain,
  at_most: plain,
  capitalize: plain,
  ceil: plain,
  compact: plain,
  concat: plain,
  date: plain,
  default: plain,
  divided_by: plain,
  downcase: plain,
  escape: { perChar: 5 },
  escape_once: { perChar: 5 },
  first: plain,
  floor: plain,
  join: plain,
  last: plain,
  lstrip: plain,
  map: plain,
  minus: plain,
  modulo: plain,
  newline_to_br: { perChar: 7 },
  plus: plain,
  prepend: plain,
  remove: splitting,
  remove_first: { perChar: 0, searches: true },
  replace: splitting,
  replace_first: { perChar: 0, searches: true },
  reverse: plain,
  round: plain,
  rstrip: plain,
  size: plain,
  slice: plain,
  sort: { perChar: 4 },
  // Each comparison converts both texts to lower case again.
  sort_natural: { perChar: 16 },
  split: splitting,
  strip: plain,
  strip_html: plain,
  strip_newlines: plain,
  times: plain,
  truncate: plain,
  truncatewords: plain,
  uniq: plain,
  upcase: plain,
  url_decode: { perChar: 1 },
  // A non-Latin character can have three bytes, each of which becomes three characters.
  url_encode: { perChar: 9 },
  where: plain,
}

/** Most characters of output per character of a date format. */
const DATE_CHARS_PER_CHAR = 32

/**
 * Charges the printed size of a list or object. Text was already charged by its filter. @returns the size of the value
 * in characters
 */
function charge(context: Context, value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 0
  // Charge one unit per member, so that a list of empty texts is not free.
  const members = Array.isArray(value) ? value : Object.entries(value).flat()
  let chars = 0
  for (const member of members) {
    context.memoryLimit.use(1 + (typeof member === 'string' ? member.length : 0))
    chars += charge(context, member)
  }
  return chars
}

const chargeSearch = (context: Context, chars: number, patternChars: number): void =>
  context.memoryLimit.use(Math.floor((chars * patternChars) / SEARCH_STEPS_PER_UNIT))

function chargeFilter(context: Context, name: string, value: unknown, args: readonly unknown[]): void {
  const { perChar, searches } = filters[name] ?? plain
  // A text filter first converts a list to text.
  const chars = charge(context, value)
  const [first = 0] = args.map((argument) => charge(context, argument))
  context.memoryLimit.use(perChar * chars)
  if (searches === true) chargeSearch(context, chars, first)
  if (name === 'date') context.memoryLimit.use(DATE_CHARS_PER_CHAR * first)
}

/** Returns a value as templates print it: an array or object as the concatenation of its parts. */
function printed(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (Array.isArray(value)) return value.map(printed).join('')
  if (typeof value !== 'object') return String(value)
  return Object.entries(value)
    .map(([name, part]) => name + printed(part))
    .join('')
}

/** The output of a part of a template, for example `capture`. */
class CapturedOutput implements Emitter {
  buffer = ''
  readonly #context: Context

  constructor(context: Context) {
    this.#context = context
  }

  write(html: unknown): void {
    const text = String(html)
    this.#context.memoryLimit.use(text.length)
    this.buffer += text
  }
}

/** Returns the templates of a fragment: all its strings. @throws Error if they exceed the limits */
export function templatesOf(fragment: unknown): readonly string[] {
  const found: string[] = []
  let chars = 0
  const visit = (part: unknown): void => {
    if (typeof part === 'string') {
      found.push(part)
      chars += part.length
      if (found.length > FRAGMENT_TEMPLATES_MAX || chars > FRAGMENT_CHARS_MAX) {
        const limits = `${FRAGMENT_TEMPLATES_MAX} strings with ${FRAGMENT_CHARS_MAX} characters in all`
        throw new Error(`a fragment has at most ${limits}`)
      }
    } else if (part !== null && typeof part === 'object') {
      for (const value of Object.values(part)) visit(value)
    }
  }
  visit(fragment)
  return found
}

let made: Liquid | null = null

/**
 * Returns the parser for templates. The module `embedders` also renders with it, and bounds output and time. Created
 * for the first template, because the library reads the time zones of the system.
 */
export function liquid(): Liquid {
  made ??= dialect()
  return made
}

function dialect(): Liquid {
  const contains = defaultOperators.contains as (
    text: unknown,
    pattern: unknown,
    context: Context,
  ) => Generator<unknown, boolean, unknown>
  const engine = new Liquid({
    // An unknown variable is an error, except as a complete condition, which the tags below allow.
    strictVariables: true,
    strictFilters: true,
    lenientIf: false,
    ownPropertyOnly: true,
    // No partial templates: without this option, `include` would read files from the disk.
    templates: {},
    parseLimit: TEMPLATE_CHARS_MAX,
    memoryLimit: RENDER_MEMORY_MAX,
    operators: {
      ...defaultOperators,
      contains(text: unknown, pattern: unknown, context: Context) {
        const [chars, patternChars] = [charge(context, text), charge(context, pattern)]
        if (typeof text === 'string') chargeSearch(context, chars, patternChars)
        return contains(text, pattern, context)
      },
    },
    outputEscape(this: { readonly context: Context }, value: unknown) {
      charge(this.context, value)
      return printed(value)
    },
  })
  // Remove tags that the API lacks.
  for (const tag of ['liquid', 'echo', '#', 'layout', 'block']) delete engine.tags[tag]
  engine.registerTag('if', StrictIf)
  engine.registerTag('unless', StrictUnless)
  engine.registerTag('ifchanged', IfChanged)
  for (const [name, options] of Object.entries(engine.filters)) {
    if (!Object.hasOwn(filters, name)) {
      engine.unregisterFilter(name)
      continue
    }
    const handler = typeof options === 'function' ? options : options.handler
    engine.registerFilter(name, function (this: { context: Context }, value: unknown, ...args: unknown[]) {
      chargeFilter(this.context, name, value, args)
      return handler.call(this as ThisParameterType<typeof handler>, value, ...args)
    })
  }
  const { renderer } = engine
  const render = renderer.renderTemplates.bind(renderer)
  renderer.renderTemplates = (templates: Template[], context: Context, output?: Emitter) =>
    render(templates, context, output ?? new CapturedOutput(context))
  return engine
}
