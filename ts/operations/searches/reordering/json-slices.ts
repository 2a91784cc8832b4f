/**
 * Finds values in JSON that the engine wrote, without parsing them: hits are moved byte for byte, so that numbers keep
 * their digits.
 */

/** A byte range. */
interface Slice {
  readonly start: number
  readonly end: number
}

/** A member of an object: from its name to the end of its value. */
export interface MemberSlice extends Slice {
  readonly name: string
  readonly valueStart: number
}

/** Reads a value in steps, between which the event loop may turn. */
export type Steps<T> = Generator<void, T>

/** Returns the members of the object that begins at `at`. */
export const memberSlices = (json: Buffer, at = 0): readonly MemberSlice[] => inOneTurn(memberSteps(json, at))

/** Same as `memberSlices`, for long values. */
export function* memberSteps(json: Buffer, at = 0): Steps<readonly MemberSlice[]> {
  const members: MemberSlice[] = []
  let next = afterSpace(json, at + 1)
  while (json[next] !== CLOSE_OBJECT) {
    const nameEnd = endOfString(json, next)
    const valueStart = afterSpace(json, afterSpace(json, nameEnd) + 1)
    const end = yield* endOfValue(json, valueStart)
    members.push({
      name: JSON.parse(json.toString('utf8', next, nameEnd)) as string,
      ...{ start: next, valueStart, end },
    })
    next = afterComma(json, end)
  }
  return members
}

/** Returns the elements of the array that begins at `at`. */
export function* elementSteps(json: Buffer, at: number): Steps<readonly Slice[]> {
  const elements: Slice[] = []
  let next = afterSpace(json, at + 1)
  while (json[next] !== CLOSE_ARRAY) {
    const end = yield* endOfValue(json, next)
    elements.push({ start: next, end })
    next = afterComma(json, end)
    yield
  }
  return elements
}

function inOneTurn<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

/** Returns the object with only the members that `isKept` accepts, and without spaces between them. */
export function withMembers(json: Buffer, isKept: (name: string) => boolean): Buffer {
  const kept = memberSlices(json).filter(({ name }) => isKept(name))
  return objectOf(kept.map(({ start, end }) => json.subarray(start, end)))
}

/** Returns an object with these members, each with its name. */
export const objectOf = (members: readonly Uint8Array[]): Buffer => enclosed('{', members, '}')

/** Returns an array with these elements. */
export const arrayOf = (elements: readonly Uint8Array[]): Buffer => enclosed('[', elements, ']')

function enclosed(open: string, parts: readonly Uint8Array[], close: string): Buffer {
  const separated = parts.flatMap((part, at) => (at === 0 ? [part] : [COMMA_BYTES, part]))
  return Buffer.concat([Buffer.from(open), ...separated, Buffer.from(close)])
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c]
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d]
const COMMA_BYTES = Buffer.from(',')
/** Bytes of a value in one step. */
const STEP_BYTES = 65_536

const isSpace = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09

function afterSpace(json: Buffer, at: number): number {
  let next = at
  while (isSpace(json[next])) next += 1
  return next
}

function afterComma(json: Buffer, at: number): number {
  const next = afterSpace(json, at)
  return json[next] === COMMA ? afterSpace(json, next + 1) : next
}

function endOfString(json: Buffer, at: number): number {
  for (let quote = json.indexOf(QUOTE, at + 1); quote !== -1; quote = json.indexOf(QUOTE, quote + 1)) {
    let backslashes = 0
    while (json[quote - 1 - backslashes] === BACKSLASH) backslashes += 1
    if (backslashes % 2 === 0) return quote + 1
  }
  throw new TypeError(`the answer of the engine has an unfinished string at byte ${at}`)
}

function* endOfValue(json: Buffer, at: number): Steps<number> {
  const first = json[at]
  if (first === QUOTE) return endOfString(json, at)
  let next = at
  if (first !== OPEN_OBJECT && first !== OPEN_ARRAY) {
    while (next < json.length && !isSpace(json[next]) && !isEnd(json[next])) next += 1
    return next
  }
  let stepEnd = at + STEP_BYTES
  for (let depth = 0; next < json.length; ) {
    if (next >= stepEnd) {
      yield
      stepEnd = next + STEP_BYTES
    }
    const byte = json[next]
    if (byte === QUOTE) {
      next = endOfString(json, next)
      continue
    }
    next += 1
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) depth += 1
    else if ((byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) && --depth === 0) return next
  }
  throw new TypeError(`the answer of the engine has an unfinished value at byte ${at}`)
}

const isEnd = (byte: number | undefined): boolean =>
  byte === COMMA || byte === CLOSE_OBJECT || byte === CLOSE_ARRAY
