/**
 * Checks the shape of JSON from a bucket, without a schema. Another program, or a build with another format, may have written it. Without
 * a check it would fail later, with a message about this code.
 */

/** Returns the path and the problem in a value, such as `.files[3] is not a text`; null: the value is valid. */
export type Check = (found: unknown) => string | null

/** Longer names are cut in messages. */
const SHOWN_CHARS = 100

const check =
  (expected: string, accepts: (found: unknown) => boolean): Check =>
  (found) =>
    accepts(found) ? null : ` is not ${expected}`

export const text = check('a text', (found) => typeof found === 'string')
export const number = check('a number', (found) => typeof found === 'number')
export const flag = check('a boolean', (found) => typeof found === 'boolean')
export const scalar = check('a text, a number or null', (found) => {
  return found === null || typeof found === 'string' || typeof found === 'number'
})

/** An integer from 0 to `max`. */
export const integer = (max = Number.MAX_SAFE_INTEGER): Check =>
  check(
    max === Number.MAX_SAFE_INTEGER ? 'a count' : `an integer up to ${max}`,
    (found) => Number.isSafeInteger(found) && Number(found) >= 0 && Number(found) <= max,
  )

/** A text for which `accepts` returns true. */
export const textThat = (expected: string, accepts: (found: string) => boolean): Check =>
  check(expected, (found) => typeof found === 'string' && accepts(found))

export const oneOf = (...texts: readonly string[]): Check =>
  textThat(`one of ${texts.join(', ')}`, (found) => texts.includes(found))

export const orNull =
  (other: Check): Check =>
  (found) =>
    found === null ? null : other(found)

export function list(item: Check): Check {
  return (found) => {
    if (!Array.isArray(found)) return ' is not a list'
    for (let at = 0; at < found.length; at++) {
      const wrong = item(found[at])
      if (wrong !== null) return `[${at}]${wrong}`
    }
    return null
  }
}

/** A list with one member for each check. */
export function tuple(...items: readonly Check[]): Check {
  return (found) => {
    if (!Array.isArray(found) || found.length !== items.length)
      return ` is not a list with a length of ${items.length}`
    for (const [at, item] of items.entries()) {
      const wrong = item(found[at])
      if (wrong !== null) return `[${at}]${wrong}`
    }
    return null
  }
}

/** An object with any names that pass `name`. */
export function record(name: Check, value: Check): Check {
  return (found) => {
    if (!isObject(found)) return ' is not an object'
    for (const [key, member] of Object.entries(found)) {
      const wrong = name(key) ?? value(member)
      if (wrong !== null) return `[${shown(key)}]${wrong}`
    }
    return null
  }
}

/** An object with any of these members and no others. */
export function someOf(members: Readonly<Record<string, Check>>): Check {
  return (found) => {
    if (!isObject(found)) return ' is not an object'
    for (const [name, value] of Object.entries(found)) {
      const member = Object.hasOwn(members, name) ? members[name] : undefined
      if (member === undefined) return `[${shown(name)}] is not known`
      const wrong = member(value)
      if (wrong !== null) return `.${name}${wrong}`
    }
    return null
  }
}

/**
 * An object with at least these members. Later builds may add more.
 * @param optional members that may be missing
 */
export function object(
  members: Readonly<Record<string, Check>>,
  optional: Readonly<Record<string, Check>> = {},
): Check {
  const checks = Object.entries({ ...members, ...optional })
  return (found) => {
    if (!isObject(found)) return ' is not an object'
    for (const [name, member] of checks) {
      const isThere = Object.hasOwn(found, name)
      if (!isThere && Object.hasOwn(optional, name)) continue
      const wrong = isThere ? member(found[name]) : ' is missing'
      if (wrong !== null) return `.${name}${wrong}`
    }
    return null
  }
}

/** A value that passes any of the checks. */
export const anyOf =
  (expected: string, ...others: readonly Check[]): Check =>
  (found) =>
    others.some((other) => other(found) === null) ? null : ` is not ${expected}`

const shown = (name: string): string => JSON.stringify(name.slice(0, SHOWN_CHARS))

const isObject = (found: unknown): found is Readonly<Record<string, unknown>> =>
  typeof found === 'object' && found !== null && !Array.isArray(found)

/**
 * Parses JSON and checks its shape.
 * @param what name of the value, for messages
 * @param damaged creates the error
 * @throws the error that `damaged` creates
 */
export function readShape<T>(
  json: string,
  what: string,
  shape: Check,
  damaged: (message: string) => Error,
): T {
  let found: unknown
  try {
    found = JSON.parse(json)
  } catch {
    throw damaged(`${what} is no JSON`)
  }
  const wrong = shape(found)
  if (wrong !== null)
    throw damaged(wrong.startsWith(' ') ? what + wrong : `${what}: ${wrong.replace(/^\./, '')}`)
  return found as T
}
