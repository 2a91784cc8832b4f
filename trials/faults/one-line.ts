import type { ExecutionContext } from 'ava'

/** Fails a test unless a start that ended told why in one line, beside lines of its log. */
export function checkOneLine(t: ExecutionContext, errors: string, name: string): void {
  const lines = errors
    .trimEnd()
    .split('\n')
    .filter((line) => !line.startsWith('{'))
  t.is(lines.length, 1, `${name}: ${errors}`)
  t.regex(lines[0]!, /^siftd: /, name)
}
