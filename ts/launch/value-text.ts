import type { Moment } from './kinds.js'
import type { Address } from './option.js'

/** Returns the value of an option as written on a command line. */
export function shown(value: unknown): string {
  if (Array.isArray(value)) return value.join(',')
  if (isMoment(value)) return 'seq' in value ? String(value.seq) : new Date(value.date).toISOString()
  return isAddress(value) ? addressText(value) : String(value)
}

const isMoment = (value: unknown): value is Moment =>
  typeof value === 'object' && value !== null && ('seq' in value || 'date' in value)

/** Returns `host:port`, with an IPv6 host in brackets. */
export const addressText = ({ host, port }: Address): string =>
  `${host.includes(':') ? `[${host}]` : host}:${port}`

const isAddress = (value: unknown): value is Address =>
  typeof value === 'object' && value !== null && 'host' in value
