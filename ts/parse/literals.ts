/** A decimal number with an optional sign, fraction and exponent. */
const DECIMAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i

/** Returns true if `text` is a decimal number such as `-1`, `2.`, `.5` or `1e-9`. */
export const isDecimal = (text: string): boolean => DECIMAL.test(text)

/** Digits of the largest 64-bit integers, signed and unsigned. */
const INTEGER_DIGITS_MAX = 20

/**
 * Returns the integer in a text; null if the text is not an integer, or has more digits than 64 bits need. The time of
 * converting digits to a bigint grows with the square of their number.
 * @param text digits with an optional sign; leading zeros do not count
 */
export function shortInteger(text: string): bigint | null {
  if (!/^[+-]?\d+$/.test(text)) return null
  const signed = text.startsWith('-') || text.startsWith('+')
  let start = signed ? 1 : 0
  while (text[start] === '0') start += 1
  if (text.length - start > INTEGER_DIGITS_MAX) return null
  const size = BigInt(text.slice(start))
  return text.startsWith('-') ? -size : size
}

/** Removes all `character`s at the end of `text`. */
export function withoutTrailing(text: string, character: string): string {
  let end = text.length
  while (end > 0 && text[end - 1] === character) end -= 1
  return text.slice(0, end)
}

/** Returns true if `text` is an absolute URL with the scheme http or https. */
export function isHttpUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol } = new URL(text)
  return protocol === 'http:' || protocol === 'https:'
}

const U64_MAX = 18446744073709551615n

/** Returns true if the text of a number is an unsigned 64-bit integer. */
export function isUnsigned(text: string): boolean {
  if (!/^\d+$/.test(text)) return false
  const value = shortInteger(text)
  return value !== null && value <= U64_MAX
}

const unitBytes: Readonly<Record<string, number>> = {
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40,
}

/** Returns the bytes of a text such as `2048`, `20MB` or `1.5 GiB`; undefined for other texts. */
export function readBytes(given: string): number | undefined {
  const [, digits, unit] = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/i.exec(given.trim()) ?? []
  const factor = unitBytes[(unit || 'b').toLowerCase()]
  if (digits === undefined || factor === undefined) return undefined
  const bytes = Math.floor(Number(digits) * factor)
  return Number.isSafeInteger(bytes) ? bytes : undefined
}

const unitMs: Readonly<Record<string, number>> = { ns: 1e-6, µs: 1e-3, ms: 1, s: 1000 }

/** Returns the milliseconds of a duration with a unit, such as `12.3ms` or `850µs`; undefined for other texts. */
export function readMilliseconds(given: string): number | undefined {
  const [, digits, unit = ''] = /^(\d+(?:\.\d+)?)(ns|µs|ms|s)$/.exec(given) ?? []
  const factor = unitMs[unit]
  return digits === undefined || factor === undefined ? undefined : Number(digits) * factor
}
