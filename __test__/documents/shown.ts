/** A page shows an output: does the program print one that keeps what the page promises? */

/** Members that differ from run to run: numbers of tasks, times and durations. */
const MOVING = /^(?:uid|taskUid|batchUid|requestUid|instanceUid|duration|.*(?:At|Ms|Date|Version|Sha))$/

/**
 * The first place where an answer breaks its example; null: it keeps it. An answer may have more members than its example
 * shows, in lists too. Texts of the example stand for any text where they have `…`.
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

/** The first line of `example` that no line of an output is; `…` stands for any text. */
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
