import type { ExecutionContext } from 'ava'

/** Asserts that a refused start printed exactly one line besides its JSON log. */
export function checkOneLine(t: ExecutionContext, errors: string, name: string): void {
  const lines = errors
    .trimEnd()
    .split('\n')
    .filter((line) => !line.startsWith('{'))
  t.is(lines.length, 1, `${name}: ${errors}`)
  t.regex(lines[0]!, /^siftd: /, name)
}
