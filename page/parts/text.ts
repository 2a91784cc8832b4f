/** Formats numbers and values for readers. */
import type { Json } from '../api/types.ts'

const whole = new Intl.NumberFormat('en')
const units = ['B', 'kB', 'MB', 'GB', 'TB']

export const count = (value: number): string => whole.format(value)

export const plural = (value: number, one: string, many = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : many}`

export function bytes(value: number): string {
  const power = value < 1000 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(value) / 3))
  const scaled = value / 1000 ** power
  return `${power === 0 || scaled >= 100 ? Math.round(scaled) : scaled.toFixed(1)} ${units[power]}`
}

export function milliseconds(value: number): string {
  if (value < 1) return `${Math.round(value * 1000)} µs`
  if (value < 10) return `${value.toFixed(1)} ms`
  return value < 1000 ? `${Math.round(value)} ms` : `${(value / 1000).toFixed(2)} s`
}

/** Parses a duration of the API, such as `2.76ms` and `193.67µs`. */
export function millisecondsOf(text: string): number {
  const [, digits, unit] = /^([\d.]+)\s*(ns|µs|us|ms|s|m)?$/.exec(text) ?? []
  const factor = { ns: 1e-6, µs: 1e-3, us: 1e-3, ms: 1, s: 1e3, m: 6e4 }[unit ?? 'ms'] ?? 1
  return digits === undefined ? 0 : Number(digits) * factor
}

/** Parses an ISO 8601 duration without days, such as `PT5.492S`. */
export function millisecondsOfIso(text: string): number {
  const [, h = 0, m = 0, s = 0] = /^PT(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?$/.exec(text) ?? []
  return (Number(h) * 3600 + Number(m) * 60 + Number(s)) * 1000
}

export const when = (iso: string): string => new Date(iso).toLocaleString()

/** Formats a value in one line, cut after `charsMax` characters. */
export function short(value: Json | undefined, charsMax = 200): string {
  const text = Array.isArray(value)
    ? value
        .slice(0, 12)
        .map((item) => (typeof item === 'object' ? JSON.stringify(item) : String(item)))
        .join(', ') + (value.length > 12 ? `, … (${count(value.length)})` : '')
    : typeof value === 'object' && value !== null
      ? JSON.stringify(value)
      : String(value ?? '')
  return cut(text, charsMax)
}

/** Cuts a text, but never inside a surrogate pair. */
export function cut(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text
  const end = /[\uD800-\uDBFF]/.test(text.charAt(charsMax - 1)) ? charsMax - 1 : charsMax
  return `${text.slice(0, end)}…`
}

/** Splits `camelCase` into words, for types of tasks and names of rules. */
export const words = (name: string): string =>
  name.replace(/([a-z])([A-Z])/g, (_match, a: string, b: string) => `${a} ${b.toLowerCase()}`)

/** Indents JSON text without parsing numbers, which would lose digits beyond 2^53. */
export function indented(text: string): string {
  let [out, depth, isInText] = ['', 0, false]
  const line = (): string => `\n${'  '.repeat(depth)}`
  for (let i = 0; i < text.length; i++) {
    const char = text.charAt(i)
    if (isInText) {
      out += char
      if (char === '\\') out += text.charAt(++i)
      else if (char === '"') isInText = false
    } else if (char === '"') {
      isInText = true
      out += char
    } else if (char === '{' || char === '[') {
      const isEmpty = /^\s*[}\]]/.exec(text.slice(i + 1, i + 50))
      if (isEmpty) {
        out += char + (char === '{' ? '}' : ']')
        i += isEmpty[0].length
      } else {
        depth++
        out += char + line()
      }
    } else if (char === '}' || char === ']') {
      depth--
      out += line() + char
    } else if (char === ',') out += char + line()
    else if (char === ':') out += ': '
    else if (!/\s/.test(char)) out += char
  }
  return out
}
