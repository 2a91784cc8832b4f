/** Segments text by a list of words, like the native engine: the longest word at each place, else one character. */
import { brotliDecompressSync } from 'node:zlib'

/** Words in the order of their UTF-16 units. */
export class WordList {
  readonly #packed: string
  #words: readonly string[] | null = null

  /** @param packed see `scripts/word-lists.mjs`; unpacked for the first text */
  constructor(packed: string) {
    this.#packed = packed
  }

  /** Yields the consecutive words and characters of `text`. */
  *segments(text: string): Generator<string> {
    this.#words ??= unpacked(this.#packed)
    for (let at = 0; at < text.length; ) {
      const size = longestAt(this.#words, text, at) || (text.codePointAt(at)! > 0xffff ? 2 : 1)
      yield text.slice(at, at + size)
      at += size
    }
  }
}

function unpacked(packed: string): string[] {
  let before = ''
  const lines = brotliDecompressSync(Buffer.from(packed, 'base64')).toString().split('\n')
  return lines.map((line) => {
    before = before.slice(0, line.charCodeAt(0) - 48) + line.slice(1)
    return before
  })
}

/** Returns the length of the longest word that `text` has at `at`; 0 if there is none. */
function longestAt(words: readonly string[], text: string, at: number): number {
  let [from, to, longest] = [0, words.length, 0]
  for (let size = 0; at + size < text.length; ) {
    const unit = text.charCodeAt(at + size)
    from = firstWith(words, from, to, size, unit)
    to = firstWith(words, from, to, size, unit + 1)
    if (from === to) break
    size++
    if (words[from]!.length === size) longest = size
  }
  return longest
}

/** Returns the first of `words` between `from` and `to` whose unit at `place` is at least `unit`; `to` if none is. */
function firstWith(words: readonly string[], from: number, to: number, place: number, unit: number): number {
  let [low, high] = [from, to]
  while (low < high) {
    const middle = (low + high) >>> 1
    // A word that ends before `place` has no unit there, and comes first.
    if (words[middle]!.charCodeAt(place) >= unit) high = middle
    else low = middle + 1
  }
  return low
}
