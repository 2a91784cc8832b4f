/** Matches attribute patterns. Source: settings §4.3. */

/** A `*` is a wildcard at the start or end of a pattern, and a plain character elsewhere. */
export function matchesPattern(pattern: string, path: string): boolean {
  if (pattern === '*') return true
  const open = pattern.startsWith('*')
  const close = pattern.endsWith('*')
  const middle = pattern.slice(open ? 1 : 0, close ? -1 : undefined)
  if (open && close) return path.includes(middle)
  if (open) return path.endsWith(middle)
  if (close) return path.startsWith(middle)
  return path === pattern
}

/** Returns true if a name can match both patterns. */
export function patternsMeet(a: string, b: string): boolean {
  const isOpen = (pattern: string): boolean => pattern.startsWith('*') || pattern.endsWith('*')
  if (!isOpen(a)) return matchesPattern(b, a)
  if (!isOpen(b)) return matchesPattern(a, b)
  const [fixedA, fixedB] = [a, b].map((pattern) => pattern.replace(/^\*|\*$/g, '')) as [string, string]
  // Both have a fixed start, or both a fixed end: one must extend the other.
  if (!a.startsWith('*') && !b.startsWith('*')) return fixedA.startsWith(fixedB) || fixedB.startsWith(fixedA)
  if (!a.endsWith('*') && !b.endsWith('*')) return fixedA.endsWith(fixedB) || fixedB.endsWith(fixedA)
  return true
}

/** Returns true if `path` is `parent` or nested in it: `a` covers `a` and `a.b`, but not `ab`. */
export const covers = (parent: string, path: string): boolean =>
  path.startsWith(parent) && (path.length === parent.length || path[parent.length] === '.')
