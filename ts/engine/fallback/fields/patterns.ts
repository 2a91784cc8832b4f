/** Does an attribute pattern name this field? Source: spec/settings.md §4.3. */

/** Patterns have a `*` at their start, their end or both; anywhere else it is a plain character. */
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

/** Whether `path` is `parent` or lies below it: `a` covers `a` and `a.b`, not `ab`. */
export const covers = (parent: string, path: string): boolean =>
  path.startsWith(parent) && (path.length === parent.length || path[parent.length] === '.')
