import { maskSecret } from '../../settings/index.js'

/** An `Authorization` value as answers show it: its scheme stays readable. */
export function redactedAuthorization(value: string): string {
  const scheme = 'Bearer '
  return value.startsWith(scheme) ? `${scheme}${maskSecret(value.slice(scheme.length))}` : maskSecret(value)
}
