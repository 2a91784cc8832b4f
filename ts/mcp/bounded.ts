/** Cuts the answers of the API to a size that an agent can read. */
import { type Json, ToolError } from './api.js'
import { RESULT_BYTES_MAX } from './limits.js'
import type { Tool } from './tool.js'

/** A list inside an answer, with a function that replaces it. */
interface Cuttable {
  readonly items: readonly unknown[]
  replace(items: readonly unknown[]): void
}

/**
 * Returns the answer with at most `RESULT_BYTES_MAX` bytes of JSON. Removes items from the end of the longest list
 * first, and adds a member `truncated` that says so.
 * @throws ToolError if the answer without lists is too long
 */
export function bounded(answer: Json, { lists, shorter }: Pick<Tool, 'lists' | 'shorter'>): Json {
  const bytes = bytesOf(answer)
  if (bytes <= RESULT_BYTES_MAX) return answer
  const copy = structuredClone(answer) as Record<string, unknown>
  const found = lists
    .flatMap((path) => listsAt(copy, path.split('.')))
    .map(({ items, replace }) => ({
      replace,
      items,
      sizes: items.map(bytesOf),
      kept: items.length,
      total: 0,
    }))
  for (const list of found) list.total = sum(list.sizes)
  const notice = (removed: number): string =>
    `the answer had ${bytes} bytes; ${removed} of the last items were removed to stay below ${RESULT_BYTES_MAX}: ${shorter}`
  let left = bytes + Buffer.byteLength(notice(Number.MAX_SAFE_INTEGER)) + 20
  let removed = 0
  while (left > RESULT_BYTES_MAX) {
    const longest = found.reduce<(typeof found)[number] | null>(
      (best, list) => (list.kept > 0 && (best === null || list.total > best.total) ? list : best),
      null,
    )
    if (longest === null) throw tooLong(bytes, shorter)
    longest.kept -= 1
    const size = longest.sizes[longest.kept] ?? 0
    longest.total -= size
    left -= size + 1
    removed += 1
  }
  for (const { items, kept, replace } of found) replace(items.slice(0, kept))
  copy.truncated = notice(removed)
  return copy
}

const tooLong = (bytes: number, shorter: string): ToolError =>
  new ToolError({
    message: `the answer has ${bytes} bytes, at most ${RESULT_BYTES_MAX} can be shown: ${shorter}`,
    code: 'answer_too_large',
    type: 'invalid_request',
    link: '',
  })

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? '')
const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0)

function listsAt(value: unknown, [name, ...rest]: readonly string[]): readonly Cuttable[] {
  if (name === undefined || typeof value !== 'object' || value === null) return []
  const holder = value as Record<string, unknown>
  const member = holder[name]
  if (rest.length > 0)
    return Array.isArray(member) ? member.flatMap((one) => listsAt(one, rest)) : listsAt(member, rest)
  if (!Array.isArray(member)) return []
  return [
    {
      items: member,
      replace(items) {
        holder[name] = items
      },
    },
  ]
}
