import { maskSecret } from '../../settings/index.js'

/** Masks the value of an `Authorization` header, except the scheme `Bearer`. */
export function redactedAuthorization(value: string): string {
  const scheme = 'Bearer '
  return value.startsWith(scheme) ? `${scheme}${maskSecret(value.slice(scheme.length))}` : maskSecret(value)
}
