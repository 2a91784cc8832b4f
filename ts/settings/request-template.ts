/**
 * Here is JSON with a placeholder in it: where do texts go in, or vectors come out?
 *
 * Source: vectors §3.3.
 *  1. The placeholder stands once, as a whole string.
 *  2. Where it stands inside the first element of an array whose second is `"{{..}}"`, that element is
 *     repeated, once per text.
 */

/** Marks the element before it as repeated. */
const REPEAT = '{{..}}'

/** Levels that are looked at: no provider's request is deeper, and the stack is not endless. */
const LEVELS_MAX = 64

type Step = string | number
type Path = readonly Step[]

/** A request or an answer with one place for a text or a vector, or one place per text. */
export interface RequestTemplate {
  readonly value: unknown
  /** Where the array of repeated elements is; null: there is one place only. */
  readonly repeated: Path | null
  /** Where the placeholder is, from the root, or from the repeated element. */
  readonly place: Path
}

/** A template that cannot be used. */
export class RequestTemplateError extends Error {
  override readonly name = 'RequestTemplateError'
}

/** @throws RequestTemplateError if the placeholder is missing, stands twice, or is repeated in a wrong way */
export function parseRequestTemplate(value: unknown, placeholder: string): RequestTemplate {
  const found = { places: [] as Path[], repeats: [] as Path[] }
  walk(value, [], placeholder, found)
  const [place, another] = found.places
  if (place === undefined) throw new RequestTemplateError(`there is no \`"${placeholder}"\` in it`)
  if (another !== undefined) throw new RequestTemplateError(`\`"${placeholder}"\` is in it more than once`)
  const [repeat, second] = found.repeats
  if (repeat === undefined) return { value, repeated: null, place }
  if (second !== undefined) throw new RequestTemplateError(`\`"${REPEAT}"\` is in it more than once`)
  const array = repeat.slice(0, -1)
  const isInside = place.length > array.length && array.every((step, at) => place[at] === step)
  if (repeat.at(-1) !== 1 || !isInside || place[array.length] !== 0) {
    throw new RequestTemplateError(
      `\`"${REPEAT}"\` must be the second element of an array whose first holds \`"${placeholder}"\``,
    )
  }
  return { value, repeated: array, place: place.slice(array.length + 1) }
}

function walk(
  value: unknown,
  path: Path,
  placeholder: string,
  found: { readonly places: Path[]; readonly repeats: Path[] },
): void {
  if (value === placeholder) found.places.push(path)
  else if (value === REPEAT) found.repeats.push(path)
  else if (typeof value === 'object' && value !== null && path.length < LEVELS_MAX) {
    const entries: Iterable<[Step, unknown]> = Array.isArray(value) ? value.entries() : Object.entries(value)
    for (const [step, inner] of entries) walk(inner, [...path, step], placeholder, found)
  }
}

/** The request for `inputs`: exactly one, unless the template repeats. */
export function filledRequest(template: RequestTemplate, inputs: readonly unknown[]): unknown {
  const { value, repeated, place } = template
  if (repeated === null) return replacedAt(value, place, inputs[0])
  const element = at(value, [...repeated, 0])
  return replacedAt(
    value,
    repeated,
    inputs.map((input) => replacedAt(element, place, input)),
  )
}

/**
 * What stands at the places of a template in an answer.
 * @throws RequestTemplateError naming the part that is not there
 */
export function takenFromAnswer({ repeated, place }: RequestTemplate, answer: unknown): readonly unknown[] {
  if (repeated === null) return [found(answer, place)]
  const elements = found(answer, repeated)
  if (!Array.isArray(elements)) {
    throw new RequestTemplateError(`expected an array at \`${shown(repeated)}\`, found ${typeOf(elements)}`)
  }
  return elements.map((element) => found(element, place))
}

function found(value: unknown, path: Path): unknown {
  let here = value
  for (const [depth, step] of path.entries()) {
    const isThere = typeof here === 'object' && here !== null && Object.hasOwn(here, step)
    if (!isThere) throw new RequestTemplateError(`there is nothing at \`${shown(path.slice(0, depth + 1))}\``)
    here = (here as Record<Step, unknown>)[step]
  }
  return here
}

const at = (value: unknown, path: Path): unknown =>
  path.reduce((here, step) => (here as Record<Step, unknown>)[step], value)

function replacedAt(value: unknown, [step, ...rest]: Path, by: unknown): unknown {
  if (step === undefined) return by
  if (Array.isArray(value)) {
    return value.map((inner, at) => (at === step ? replacedAt(inner, rest, by) : inner))
  }
  const entries = Object.entries(value as object)
  return Object.fromEntries(
    entries.map(([name, inner]) => [name, name === step ? replacedAt(inner, rest, by) : inner]),
  )
}

const shown = (path: Path): string =>
  path.length === 0
    ? 'the top'
    : path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`)).join('')

const typeOf = (value: unknown): string => (value === null ? 'null' : typeof value)
