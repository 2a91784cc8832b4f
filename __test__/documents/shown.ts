/** Compares an output shown in a page with the actual output of the program. */

/** Members that differ between runs: numbers of tasks, times and durations. */
const MOVING = /^(?:uid|taskUid|batchUid|requestUid|instanceUid|duration|.*(?:At|Ms|Date|Version|Sha))$/

/**
 * Returns the first position where an answer contradicts its example; null: it does not. An answer may have more
 * members than its example, in lists too. `…` in a text of the example matches any text.
 */
export function breach(example: unknown, answer: unknown, path = ''): string | null {
  const here = path === '' ? 'the answer' : `\`${path}\``
  if (Array.isArray(example)) {
    if (!Array.isArray(answer)) return `${here} is no list`
    if (answer.length < example.length) return `${here} has ${answer.length} elements, not ${example.length}`
    return first(example.map((one, at) => breach(one, answer[at], `${path}[${at}]`)))
  }
  if (typeof example === 'object' && example !== null) {
    if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) return `${here} is no object`
    const members = answer as Readonly<Record<string, unknown>>
    return first(
      Object.entries(example).map(([name, one]) => {
        const inner = path === '' ? name : `${path}.${name}`
        if (!(name in members)) return `\`${inner}\` is missing`
        const isMoving = MOVING.test(name) && typeof one === typeof members[name]
        return isMoving ? null : breach(one, members[name], inner)
      }),
    )
  }
  if (typeof example === 'string' && typeof answer === 'string' && matches(example, answer)) return null
  return example === answer ? null : `${here} is ${JSON.stringify(answer)}, not ${JSON.stringify(example)}`
}

const first = (breaches: readonly (string | null)[]): string | null =>
  breaches.find((one) => one !== null) ?? null

/** Returns the first line of `example` that no line of the output matches; `…` matches any text. */
export function missingLine(example: string, output: string): string | null {
  const lines = output.split('\n').map((line) => line.trim())
  const wanted = example.split('\n').map((line) => line.trim())
  return wanted.find((line) => line !== '…' && !lines.some((one) => matches(line, one))) ?? null
}

function matches(example: string, text: string): boolean {
  const [start = '', ...parts] = example.split('…')
  if (parts.length === 0) return example === text
  if (!text.startsWith(start)) return false
  let at = start.length
  for (const part of parts) {
    const found = text.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return parts.at(-1) === '' || text.endsWith(parts.at(-1)!)
}
