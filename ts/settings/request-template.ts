/**
 * Templates of requests and answers: find the placeholders of texts or vectors.
 *
 * Source: vectors §3.3.
 * 1. The placeholder occurs once, as a complete string.
 * 2. If it is inside the first element of an array with the second element `"{{..}}"`, the first element is repeated
 *    once per text.
 */

/** The array element that marks the previous element as repeated. */
const REPEAT = '{{..}}'

/** Levels that are searched. No provider has deeper requests, and the search is recursive. */
const LEVELS_MAX = 64

type Step = string | number
type Path = readonly Step[]

/** A parsed request or answer. It has one slot for a text or vector, or one slot per text. */
export interface RequestTemplate {
  readonly value: unknown
  /** The path of the array with the repeated element; null: no element is repeated. */
  readonly repeated: Path | null
  /** The path of the placeholder, from the root or from the repeated element. */
  readonly slot: Path
}

/** Thrown for an invalid template. */
export class RequestTemplateError extends Error {
  override readonly name = 'RequestTemplateError'
}

/**
 * Parses a template. @throws RequestTemplateError if the placeholder is missing, occurs twice, or is repeated in a
 * wrong way
 */
export function parseRequestTemplate(value: unknown, placeholder: string): RequestTemplate {
  const found = { slots: [] as Path[], repeats: [] as Path[] }
  walk(value, [], placeholder, found)
  const [slot, another] = found.slots
  if (slot === undefined) throw new RequestTemplateError(`it does not contain \`"${placeholder}"\``)
  if (another !== undefined) throw new RequestTemplateError(`\`"${placeholder}"\` occurs more than once`)
  const [repeat, second] = found.repeats
  if (repeat === undefined) return { value, repeated: null, slot }
  if (second !== undefined) throw new RequestTemplateError(`\`"${REPEAT}"\` occurs more than once`)
  const array = repeat.slice(0, -1)
  const isInside = slot.length > array.length && array.every((step, at) => slot[at] === step)
  if (repeat.at(-1) !== 1 || !isInside || slot[array.length] !== 0) {
    throw new RequestTemplateError(
      `\`"${REPEAT}"\` must be the second element of an array whose first holds \`"${placeholder}"\``,
    )
  }
  return { value, repeated: array, slot: slot.slice(array.length + 1) }
}

function walk(
  value: unknown,
  path: Path,
  placeholder: string,
  found: { readonly slots: Path[]; readonly repeats: Path[] },
): void {
  if (value === placeholder) found.slots.push(path)
  else if (value === REPEAT) found.repeats.push(path)
  else if (typeof value === 'object' && value !== null && path.length < LEVELS_MAX) {
    const entries: Iterable<[Step, unknown]> = Array.isArray(value) ? value.entries() : Object.entries(value)
    for (const [step, inner] of entries) walk(inner, [...path, step], placeholder, found)
  }
}

/** Returns the request for `inputs`. There must be exactly one input unless the template repeats an element. */
export function filledRequest(template: RequestTemplate, inputs: readonly unknown[]): unknown {
  const { value, repeated, slot } = template
  if (repeated === null) return replacedAt(value, slot, inputs[0])
  const element = at(value, [...repeated, 0])
  return replacedAt(
    value,
    repeated,
    inputs.map((input) => replacedAt(element, slot, input)),
  )
}

/**
 * Returns the values in the slots of an answer.
 * @throws RequestTemplateError that names the missing part
 */
export function valuesFromAnswer({ repeated, slot }: RequestTemplate, answer: unknown): readonly unknown[] {
  if (repeated === null) return [found(answer, slot)]
  const elements = found(answer, repeated)
  if (!Array.isArray(elements)) {
    throw new RequestTemplateError(`expected an array at \`${shown(repeated)}\`, found ${typeOf(elements)}`)
  }
  return elements.map((element) => found(element, slot))
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
