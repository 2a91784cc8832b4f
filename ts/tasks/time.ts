import { withoutTrailing } from '../parse/index.js'

/** Microseconds since 1970, the resolution of all dates in the store. Exact as a double. */
export type Micros = number

/** Returns the current time. It never decreases within one process, even if the system clock is set back. */
export function now(): Micros {
  return Math.round((performance.timeOrigin + performance.now()) * 1000)
}

/** Formats as RFC 3339 in UTC. The fraction has no trailing zeros and is omitted if it is zero. */
export function formatDate(at: Micros): string {
  const micros = ((at % 1_000_000) + 1_000_000) % 1_000_000
  const fraction = micros === 0 ? '' : `.${withoutTrailing(String(micros).padStart(6, '0'), '0')}`
  return `${formatSecond((at - micros) / 1_000_000)}${fraction}Z`
}

/** Cache of the last formatted second: dates of a page are close together, and formatting one takes a microsecond. */
let lastSecond = { at: 0, text: '1970-01-01T00:00:00' }

function formatSecond(at: number): string {
  if (at !== lastSecond.at) lastSecond = { at, text: new Date(at * 1000).toISOString().slice(0, 19) }
  return lastSecond.text
}

/**
 * Formats as ISO 8601 in days and seconds, as the API never uses hours and minutes. The fraction has three or six
 * digits, the fewest that are exact. Returns null for a negative duration.
 */
export function formatDuration(micros: Micros): string | null {
  if (micros < 0) return null
  const days = Math.floor(micros / 86_400_000_000)
  const rest = micros - days * 86_400_000_000
  const seconds = Math.floor(rest / 1_000_000)
  const fraction = rest % 1_000_000
  const digits =
    fraction % 1000 === 0 ? String(fraction / 1000).padStart(3, '0') : String(fraction).padStart(6, '0')
  const time = rest === 0 ? (days === 0 ? 'T0S' : '') : `T${seconds}${fraction === 0 ? '' : `.${digits}`}S`
  return `P${days === 0 ? '' : `${days}D`}${time}`
}

const dateTime = /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?\d*([Zz]|[+-]\d\d:\d\d)$/

/**
 * Parses an RFC 3339 date to bounds in microseconds: `floor` for "later than", `ceil` for "earlier than". So digits
 * below a microsecond still separate dates.
 * @throws RangeError if `text` is not a valid date; callers have checked it before
 */
export function parseDate(text: string): { readonly floor: Micros; readonly ceil: Micros } {
  const match = dateTime.exec(text)
  const whole = match === null ? Number.NaN : Date.parse(`${match[1]}T${match[2]}${match[4]?.toUpperCase()}`)
  if (Number.isNaN(whole)) throw new RangeError(`\`${text}\` is not an RFC 3339 date`)
  const nanos = Number((match?.[3] ?? '').padEnd(9, '0'))
  return { floor: whole * 1000 + Math.floor(nanos / 1000), ceil: whole * 1000 + Math.ceil(nanos / 1000) }
}
