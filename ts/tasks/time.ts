import { withoutTrailing } from '../parse/index.js'

/** Microseconds since 1970, the resolution of every date of the store: still exact as a number. */
export type Micros = number

/** Now, never going back within one process unless the system clock is set back before its start. */
export function now(): Micros {
  return Math.round((performance.timeOrigin + performance.now()) * 1000)
}

/** RFC 3339 in UTC; a fraction only if there is one, without trailing zeros. */
export function formatDate(at: Micros): string {
  const micros = ((at % 1_000_000) + 1_000_000) % 1_000_000
  const fraction = micros === 0 ? '' : `.${withoutTrailing(String(micros).padStart(6, '0'), '0')}`
  return `${formatSecond((at - micros) / 1_000_000)}${fraction}Z`
}

/** The second written last: dates of a page lie near each other, and writing one takes a microsecond. */
let lastSecond = { at: 0, text: '1970-01-01T00:00:00' }

function formatSecond(at: number): string {
  if (at !== lastSecond.at) lastSecond = { at, text: new Date(at * 1000).toISOString().slice(0, 19) }
  return lastSecond.text
}

/**
 * ISO 8601 in days and seconds, since hours and minutes are never written. The fraction has three or six
 * digits, the fewest that are exact. Null for a negative duration.
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
 * An RFC 3339 date as bounds for dates of microseconds: `floor` for "later than", `ceil` for "earlier
 * than", so that digits finer than a microsecond still separate.
 * @throws RangeError if `text` is not such a date; callers have checked it before.
 */
export function parseDate(text: string): { readonly floor: Micros; readonly ceil: Micros } {
  const match = dateTime.exec(text)
  const whole = match === null ? Number.NaN : Date.parse(`${match[1]}T${match[2]}${match[4]?.toUpperCase()}`)
  if (Number.isNaN(whole)) throw new RangeError(`\`${text}\` is not an RFC 3339 date`)
  const nanos = Number((match?.[3] ?? '').padEnd(9, '0'))
  return { floor: whole * 1000 + Math.floor(nanos / 1000), ceil: whole * 1000 + Math.ceil(nanos / 1000) }
}
