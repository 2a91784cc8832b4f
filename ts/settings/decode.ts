import { ApiError, type ErrorCode } from '../errors/index.js'

/** Where in a body a value stands, and the code that a bad value there is answered with. */
export interface Place {
  /** `.a.b[0]`; empty for the body itself. */
  readonly path: string
  readonly code: ErrorCode
}

export type JsonObject = Readonly<Record<string, unknown>>

export const field = (at: Place, name: string): Place => ({ path: `${at.path}.${name}`, code: at.code })
export const element = (at: Place, position: number): Place => ({
  path: `${at.path}[${position}]`,
  code: at.code,
})

const article = (kind: string): string => (/^[aeiou]/.test(kind) ? `an ${kind}` : `a ${kind}`)

/** The word error messages use for the kind of a JSON value. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value !== 'number') return typeof value
  if (!Number.isInteger(value) || Math.abs(value) >= 2 ** 64) return 'number'
  return value < 0 ? 'negative integer' : 'positive integer'
}

/** Refuses a value of the wrong JSON kind; `expected` are kinds as `kindOf` words them. */
export function wrongType(at: Place, value: unknown, ...expected: readonly string[]): ApiError {
  const kind = kindOf(value)
  const found = kind === 'null' ? 'null' : `${article(kind)}: \`${literal(value)}\``
  const place = at.path === '' ? '' : ` at \`${at.path}\``
  const wanted = expected.map(article).join(' or ')
  return new ApiError(at.code, `Invalid value type${place}: expected ${wanted}, but found ${found}`)
}

/** Refuses a value of the right kind for `reason`. */
export function badValue(at: Place, reason: string): ApiError {
  const place = at.path === '' ? '' : ` at \`${at.path}\``
  return new ApiError(at.code, `Invalid value${place}: ${reason}`)
}

/** Refuses a key that an object does not have; suggests the nearest of `accepted`. */
export function unknownField(at: Place, name: string, accepted: readonly string[]): ApiError {
  const place = at.path === '' ? '' : ` inside \`${at.path}\``
  return new ApiError(at.code, `Unknown field \`${shorten(name)}\`${place}: ${choices(name, accepted)}`)
}

/** Refuses an object for lacking a key. */
export function missingField(at: Place, name: string): ApiError {
  const place = at.path === '' ? '' : ` inside \`${at.path}\``
  return new ApiError(at.code, `Missing field \`${name}\`${place}`)
}

export function asString(value: unknown, at: Place): string {
  if (typeof value !== 'string') throw wrongType(at, value, 'string')
  return value
}

export function asBoolean(value: unknown, at: Place): boolean {
  if (typeof value !== 'boolean') throw wrongType(at, value, 'boolean')
  return value
}

/**
 * A whole number from 0 to `max`. Numbers of 64 bits are taken; those that JavaScript cannot hold exactly
 * become the largest that it can, far above anything there could be to count.
 */
export function asCount(value: unknown, at: Place, max: number = Number.MAX_SAFE_INTEGER): number {
  if (kindOf(value) !== 'positive integer') throw wrongType(at, value, 'positive integer')
  if (max < Number.MAX_SAFE_INTEGER && (value as number) > max) {
    throw badValue(at, `\`${value}\` is too large, the largest is \`${max}\``)
  }
  return Math.min(value as number, max)
}

export function asChoice<T extends string>(value: unknown, at: Place, accepted: readonly T[]): T {
  const text = asString(value, at)
  const found = accepted.find((choice) => choice === text)
  if (found !== undefined) return found
  const place = at.path === '' ? '' : ` at \`${at.path}\``
  throw new ApiError(at.code, `Unknown value \`${shorten(text)}\`${place}: ${choices(text, accepted)}`)
}

export function asObject(value: unknown, at: Place): JsonObject {
  if (kindOf(value) !== 'object') throw wrongType(at, value, 'object')
  return value as JsonObject
}

export function asList<T>(value: unknown, at: Place, each: (value: unknown, at: Place) => T): readonly T[] {
  if (!Array.isArray(value)) throw wrongType(at, value, 'array')
  return value.map((item, position) => each(item, element(at, position)))
}

/** Visits the keys of an object in payload order; every key must be in `fields`. */
export function readFields(
  value: unknown,
  at: Place,
  fields: Readonly<Record<string, (value: unknown, at: Place) => void>>,
): void {
  for (const [name, inner] of Object.entries(asObject(value, at))) {
    const read = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (read === undefined) throw unknownField(at, name, Object.keys(fields))
    read(inner, field(at, name))
  }
}

/** Ascending by UTF-8 bytes. */
export const byBytes = (left: string, right: string): number =>
  Buffer.compare(Buffer.from(left), Buffer.from(right))

/** Sorted by bytes, each once. */
export const asSet = (words: readonly string[]): readonly string[] => [...new Set(words)].sort(byBytes)

/** The same object with its keys in byte order. */
export const sortedKeys = <T>(record: Readonly<Record<string, T>>): Readonly<Record<string, T>> =>
  Object.fromEntries(Object.entries(record).sort(([left], [right]) => byBytes(left, right)))

/** "did you mean …" where an accepted name is near, then all accepted names. */
export function choices(received: string, accepted: readonly string[]): string {
  const budget = editBudget(received.length)
  const [nearest] = accepted
    .map((name) => ({ name, edits: budget === 0 ? Infinity : editDistance(received, name) }))
    .filter(({ edits }) => edits <= budget)
    .sort((left, right) => left.edits - right.edits)
  const hint = nearest === undefined ? '' : `did you mean \`${nearest.name}\`? `
  return `${hint}expected one of ${accepted.map((name) => `\`${name}\``).join(', ')}`
}

function editBudget(length: number): number {
  if (length <= 3) return 0
  if (length <= 7) return 1
  if (length <= 12) return 2
  if (length <= 17) return 3
  return length <= 24 ? 4 : 5
}

/** Damerau-Levenshtein (adjacent swaps count one). Names are short; longer input is never near. */
function editDistance(left: string, right: string): number {
  if (Math.abs(left.length - right.length) > 5) return Infinity
  let before: number[] = []
  let last = Array.from({ length: right.length + 1 }, (_, column) => column)
  for (let row = 1; row <= left.length; row++) {
    const line = [row]
    for (let column = 1; column <= right.length; column++) {
      const differ = left[row - 1] === right[column - 1] ? 0 : 1
      let edits = Math.min(last[column]! + 1, line[column - 1]! + 1, last[column - 1]! + differ)
      const swapped = left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1]
      if (row > 1 && column > 1 && swapped) edits = Math.min(edits, before[column - 2]! + 1)
      line.push(edits)
    }
    before = last
    last = line
  }
  return last[right.length]!
}

/** Long values are cut so that a message cannot be larger than a log line. */
const shorten = (text: string): string => (text.length > 200 ? `${text.slice(0, 200)}…` : text)

function literal(value: unknown): string {
  try {
    return shorten(JSON.stringify(value))
  } catch {
    // Nested too deeply to be printed.
    return '…'
  }
}
