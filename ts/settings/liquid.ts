/**
 * The dialect of Liquid that templates of embedders and chats are written in, its work bounded.
 *
 * Memory: the library charges what most filters make against a budget of the rendering. What it leaves out is charged
 * here: captured output, lists that filters turn into text, filters that lengthen text, and searches for long patterns,
 * whose time is the product of both lengths. Source of tags and filters: vectors §3.1.
 */
import { type Context, defaultOperators, type Emitter, Liquid, type Template } from 'liquidjs'
import { RENDER_MEMORY_MAX, SEARCH_STEPS_PER_UNIT, TEMPLATE_CHARS_MAX } from './limits.js'

/** How a filter uses memory and time, per character of the text it is given. */
interface FilterCost {
  /** Units per character. */
  readonly perChar: number
  /** The first argument is searched for. */
  readonly searches?: true
}

const plain: FilterCost = { perChar: 0 }
/** Makes a list of pieces, each of which takes as much memory as a few characters. */
const cutting: FilterCost = { perChar: 4, searches: true }

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
  remove: cutting,
  remove_first: { perChar: 0, searches: true },
  replace: cutting,
  replace_first: { perChar: 0, searches: true },
  reverse: plain,
  round: plain,
  rstrip: plain,
  size: plain,
  slice: plain,
  sort: { perChar: 4 },
  // Both sides of each comparison are folded anew.
  sort_natural: { perChar: 16 },
  split: cutting,
  strip: plain,
  strip_html: plain,
  strip_newlines: plain,
  times: plain,
  truncate: plain,
  truncatewords: plain,
  uniq: plain,
  upcase: plain,
  url_decode: { perChar: 1 },
  // A character beyond Latin becomes three bytes of three characters each.
  url_encode: { perChar: 9 },
  where: plain,
}

/** Characters that a directive of a date's format can become. */
const DATE_CHARS_PER_CHAR = 32

/** Charges a list or an object with its printed size; the size of a text is left to what makes it. @returns the size */
function charge(context: Context, value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 0
  // One unit for each member, so that a list of empty texts is not free.
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
  // Filters of texts write out a list before they work on it.
  const chars = charge(context, value)
  const [first = 0] = args.map((argument) => charge(context, argument))
  context.memoryLimit.use(perChar * chars)
  if (searches === true) chargeSearch(context, chars, first)
  if (name === 'date') context.memoryLimit.use(DATE_CHARS_PER_CHAR * first)
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

/** Text that a template makes for itself, such as that of `capture`. */
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

/** Parses templates, and holds what rendering them needs; rendering is for `embedders`, which bounds output and time. */
export const liquid = dialect()

function dialect(): Liquid {
  const contains = defaultOperators.contains as (
    text: unknown,
    pattern: unknown,
    context: Context,
  ) => Generator<unknown, boolean, unknown>
  const made = new Liquid({
    // Naming what is not there is a mistake, save in a bare test such as `{% if doc.x %}`.
    strictVariables: true,
    strictFilters: true,
    lenientIf: true,
    ownPropertyOnly: true,
    // There are no partial files: without this, `include` would look for them on the disk.
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
  // Later additions of other dialects; the one of this API does not know them.
  for (const tag of ['liquid', 'echo', '#', 'layout', 'block']) delete made.tags[tag]
  for (const [name, options] of Object.entries(made.filters)) {
    if (!Object.hasOwn(filters, name)) {
      made.unregisterFilter(name)
      continue
    }
    const handler = typeof options === 'function' ? options : options.handler
    made.registerFilter(name, function (this: { context: Context }, value: unknown, ...args: unknown[]) {
      chargeFilter(this.context, name, value, args)
      return handler.call(this as ThisParameterType<typeof handler>, value, ...args)
    })
  }
  const { renderer } = made
  const render = renderer.renderTemplates.bind(renderer)
  renderer.renderTemplates = (templates: Template[], context: Context, output?: Emitter) =>
    render(templates, context, output ?? new CapturedOutput(context))
  return made
}
