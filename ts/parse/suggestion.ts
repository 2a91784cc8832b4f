/** Most edits between a received name and its suggestion, by the length of the received name. */
const BUDGETS: readonly (readonly [lengthMax: number, edits: number])[] = [
  [3, 0],
  [7, 1],
  [12, 2],
  [17, 3],
  [24, 4],
  [Number.POSITIVE_INFINITY, 5],
]
/**
 * Most characters of a name that gets suggestions. A longer text is not a misspelt name, and comparing it takes time.
 */
const RECEIVED_CHARS_MAX = 64

/** Returns the name in `accepted` nearest to `received`; null if none is near enough. */
export function suggestion(received: string, accepted: readonly string[]): string | null {
  if (received.length > RECEIVED_CHARS_MAX) return null
  const budget = BUDGETS.find(([lengthMax]) => received.length <= lengthMax)?.[1] ?? 0
  let best: string | null = null
  let fewest = budget + 1
  for (const name of accepted) {
    if (Math.abs(name.length - received.length) >= fewest) continue
    const edits = editsBetween(received, name)
    if (edits < fewest) {
      best = name
      fewest = edits
    }
  }
  return best
}

/** Returns `did you mean …` if an accepted name is near enough, then all accepted names. */
export function choices(received: string, accepted: readonly string[]): string {
  const near = suggestion(received, accepted)
  const hint = near === null ? '' : `did you mean \`${near}\`? `
  return `${hint}expected one of ${accepted.map((name) => `\`${name}\``).join(', ')}`
}

/** Returns the Damerau-Levenshtein distance: insertions, deletions, replacements, and swaps of neighbours. */
function editsBetween(a: string, b: string): number {
  const rows = Array.from({ length: a.length + 1 }, (_, i) => {
    const row = new Array<number>(b.length + 1).fill(0)
    row[0] = i
    return row
  })
  for (let j = 0; j <= b.length; j++) rows[0]![j] = j
  for (let i = 1; i <= a.length; i++) {
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1
      let cost = Math.min(rows[i - 1]![j]! + 1, rows[i]![j - 1]! + 1, rows[i - 1]![j - 1]! + same)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        cost = Math.min(cost, rows[i - 2]![j - 2]! + 1)
      }
      rows[i]![j] = cost
    }
  }
  return rows[a.length]![b.length]!
}
