/**
 * A secret as answers show it: the start of it, and a length that tells nothing.
 * Source: the redaction rule of the API, by length of the secret.
 */
export function redacted(secret: string): string {
  const characters = [...secret]
  const length = characters.length
  if (length < 10) return 'XXX...'
  if (length < 20) return `${characters.slice(0, 2).join('')}XXXX...`
  if (length < 30) return `${characters.slice(0, 3).join('')}XXXXX...`
  return `${characters.slice(0, 5).join('')}XXXXXX...`
}

/** An `Authorization` value as answers show it: its scheme stays readable. */
export function redactedAuthorization(value: string): string {
  const scheme = 'Bearer '
  return value.startsWith(scheme) ? `${scheme}${redacted(value.slice(scheme.length))}` : redacted(value)
}
