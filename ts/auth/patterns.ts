/** Returns true if a pattern (a uid, its beginning followed by `*`, or `*`) matches `uid`. */
export function matches(pattern: string, uid: string): boolean {
  return pattern.endsWith('*') ? uid.startsWith(pattern.slice(0, -1)) : pattern === uid
}

/** Returns true if any of `patterns` matches `uid`. */
export function matchesAny(patterns: readonly string[], uid: string): boolean {
  return patterns.some((pattern) => matches(pattern, uid))
}

/** Returns true if `text` is a pattern of index uids. Source: the syntax of index uids, at most 400 bytes. */
export function isPattern(text: string): boolean {
  return /^([A-Za-z0-9_-]{1,400}\*?|\*)$/.test(text)
}
