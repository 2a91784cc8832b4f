import { maskSecret } from '../../settings/index.js'

/** The value of an `Authorization` header as answers show it: the scheme `Bearer` in clear, the rest masked. */
export function redactedAuthorization(value: string): string {
  const scheme = 'Bearer '
  return value.startsWith(scheme) ? `${scheme}${maskSecret(value.slice(scheme.length))}` : maskSecret(value)
}
