/**
 * Crops a text to the window that shows its matches best.
 *
 * Source: search §16.4.
 * 1. The window is chosen by the best run of matches that fits: most distinct words, then closest together, then most
 *    in query order.
 * 2. The window grows from that run in both directions, words before separators, soft separators before hard ones.
 * 3. Without matches the text is shown from its start.
 */
import { HARD, type Token } from '../../analysis/tokenize.js'
import { isWordToken, type TextMatch } from './matches.js'

/** UTF-16 offsets of the displayed part. */
interface CropWindow {
  readonly start: number
  readonly end: number
}

type Score = readonly [words: number, nearness: number, order: number]

/** Larger gaps count as this width. */
const GAP_MAX = 7

/** @param size number of words to show, at least 1 */
export function cropWindow(
  tokens: readonly Token[],
  matches: readonly TextMatch[],
  size: number,
): CropWindow {
  const best = matches.length === 0 ? null : bestInterval(matches, size)
  let left = best?.first.firstToken ?? 0
  let right = best === null ? 0 : best.last.lastToken + 1
  const span = best === null ? 0 : best.last.lastWord - best.first.firstWord + 1
  if (span > size) {
    for (let surplus = span - size; surplus > 0; ) if (isWordToken(tokens[--right]!)) surplus--
    while (right > left && !isWordToken(tokens[right - 1]!)) right--
  } else [left, right] = grown(tokens, left, right, size - span)
  return { start: tokens[left]?.start ?? 0, end: tokens[right - 1]?.end ?? 0 }
}

function grown(
  tokens: readonly Token[],
  from: number,
  to: number,
  words: number,
): readonly [left: number, right: number] {
  let left = from
  let right = to
  let remaining = words
  const takeLeft = (): void => {
    left--
    if (isWordToken(tokens[left]!)) remaining--
  }
  const takeRight = (): void => {
    if (isWordToken(tokens[right]!)) remaining--
    right++
  }
  while (remaining > 0) {
    const before = tokens[left - 1]
    const after = tokens[right]
    if (before === undefined && after === undefined) break
    if (before === undefined) takeRight()
    else if (after === undefined) takeLeft()
    else if (isWordToken(before)) {
      takeLeft()
      if (isWordToken(after) && remaining > 0) takeRight()
    } else if (isWordToken(after)) takeRight()
    else if ((before.kind === HARD) === (after.kind === HARD)) {
      takeLeft()
      // Avoid ending the window in a separator before the marker.
      if (remaining > 1) takeRight()
    } else if (before.kind === HARD) takeRight()
    else takeLeft()
  }
  return [left, right]
}

interface Interval {
  readonly first: TextMatch
  readonly last: TextMatch
}

function bestInterval(matches: readonly TextMatch[], size: number): Interval {
  let best: { readonly interval: Interval; readonly score: Score } | null = null
  const scores = new RunScores(matches)
  const consider = (first: number, last: number): void => {
    const score = scores.of(first, last)
    if (best === null || isBetter(score, best.score))
      best = { interval: { first: matches[first]!, last: matches[last]! }, score }
  }
  let first = 0
  for (const [at, match] of matches.entries()) {
    if (match.lastWord - matches[first]!.firstWord < size) continue
    // If phrases longer than the crop are adjacent, there is no run between them.
    if (at > first) consider(first, at - 1)
    while (first < matches.length - 1) {
      first++
      const start = matches[first]!.firstWord
      if (start > match.lastWord || match.lastWord - start < size) break
    }
  }
  const last = matches.length - 1
  const final = matches[first]!
  if (first !== last || final.lastWord - final.firstWord + 1 < size) consider(first, last)
  const found = best as { readonly interval: Interval } | null
  return found?.interval ?? { first: matches[0]!, last: matches[0]! }
}

const isBetter = (a: Score, b: Score): boolean => {
  const at = a.findIndex((part, nth) => part !== b[nth])
  return at !== -1 && a[at]! > b[at]!
}

/** Scores runs of matches. Each run must start and end no earlier than the previous one. */
class RunScores {
  private readonly matches: readonly TextMatch[]
  /** Prefix sums over matches: extra words that phrases span. */
  private readonly spans: Float64Array
  /** Prefix sums over matches: words up to the next match, and matches followed by a later query position. */
  private readonly gaps: Float64Array
  private readonly ascents: Float64Array
  /** Number of matches in the run by query position. */
  private readonly counts = new Map<number, number>()
  private first = 0
  private end = 0

  constructor(matches: readonly TextMatch[]) {
    this.matches = matches
    this.spans = new Float64Array(matches.length + 1)
    this.gaps = new Float64Array(matches.length + 1)
    this.ascents = new Float64Array(matches.length + 1)
    for (const [at, match] of matches.entries()) {
      const next = matches[at + 1] ?? match
      this.spans[at + 1] = this.spans[at]! + (match.isPhrase ? match.lastWord - match.firstWord : 0)
      this.gaps[at + 1] = this.gaps[at]! + Math.min(next.firstWord - match.lastWord, GAP_MAX)
      this.ascents[at + 1] = this.ascents[at]! + (next.firstPosition > match.firstPosition ? 1 : 0)
    }
  }

  of(first: number, last: number): Score {
    for (; this.end <= last; this.end++) this.count(this.end, 1)
    for (; this.first < first; this.first++) this.count(this.first, -1)
    const span = this.spans[last + 1]! - this.spans[first]!
    const gap = this.gaps[last]! - this.gaps[first]!
    return [this.counts.size, -span - gap, span + this.ascents[last]! - this.ascents[first]!]
  }

  private count(at: number, step: 1 | -1): void {
    const { firstPosition, lastPosition } = this.matches[at]!
    for (let position = firstPosition; position <= lastPosition; position++) {
      const count = (this.counts.get(position) ?? 0) + step
      if (count === 0) this.counts.delete(position)
      else this.counts.set(position, count)
    }
  }
}
