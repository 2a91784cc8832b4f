/**
 * Cuts texts into the words of a dictionary.
 *
 * Candidates are the words of the dictionary and unknown words, by the category of their characters. The cheapest
 * sequence wins: each word has a cost, and so has each pair of neighbours (Viterbi). Candidates and ties are those of
 * MeCab with the same dictionary.
 */
import { TOKEN_UNITS, type WordDictionary } from './dictionary.js'

/** UTF-16 units that are cut together. A longer text is cut in windows, so that memory is bounded. */
const WINDOW = 1024
/** Words that end closer to the end of a window than this are cut again with the next one. */
const MARGIN = 64
/** Longest group of characters that can be an unknown word, without its first. Source: MeCab. */
const GROUP_MAX = 24

const CATEGORIES = 0x3ffff
const GROUPED = 1 << 30

export class WordCutter {
  readonly #dictionary: WordDictionary
  #nodes = new Nodes(1 << 12)
  /** Position in the window → last node that ends there; -1 if there is none. */
  readonly #ending = new Int32Array(WINDOW + 1)

  constructor(dictionary: WordDictionary) {
    this.#dictionary = dictionary
  }

  /** Yields the consecutive words of `text`. Lazy, so that a caller may stop early. */
  *words(text: string): Generator<string> {
    let from = 0
    while (from < text.length) {
      let to = Math.min(from + WINDOW, text.length)
      if (to < text.length && isLead(text.charCodeAt(to - 1)) && isTrail(text.charCodeAt(to))) to--
      const trusted = to === text.length ? to : to - MARGIN
      let start = from
      for (const [length, cuts] of this.#cheapest(text.slice(from, to))) {
        if (start > from && start + length > trusted) break
        yield* parts(text.slice(start, start + length), cuts)
        start += length
      }
      from = start
    }
  }

  /** Lengths and inner boundaries of the cheapest sequence of words. */
  #cheapest(text: string): [length: number, cuts: number][] {
    const { start, end } = this.#dictionary
    const nodes = this.#nodes
    this.#ending.fill(-1, 0, text.length + 1)
    nodes.count = 0
    this.#ending[0] = nodes.add(0, start, 0, -1, 0, -1)
    for (let at = 0; at < text.length; at++) if (this.#ending[at] !== -1) this.#extend(text, at)

    const words: [number, number][] = []
    let [node] = this.#best(text.length, end)
    // Only a list without tokens, which no build writes, leaves a window without words.
    if (node === -1) return [[text.length, 0]]
    for (let to = text.length; to > 0; node = nodes.before[node]!) {
      const from = nodes.start[node]!
      words.push([to - from, nodes.cuts[node]!])
      to = from
    }
    return words.reverse()
  }

  /** Adds all candidates that begin at `at`. */
  #extend(text: string, at: number): void {
    const { labels, children, words, roots, unknown, kinds, kindOf } = this.#dictionary
    // Candidates in the order of MeCab: the last one is the first to be connected.
    const found: (readonly [end: number, list: number])[] = []
    let node = roots[text.charCodeAt(at)]!
    for (let end = at + 1; node !== 0; end++) {
      if (words[node] !== 0) found.push([end, words[node]! - 1])
      node = end < text.length ? childOf(labels, children, node, text.charCodeAt(end)) : 0
    }
    const kind = kinds[kindOf[unitOf(text, at)]!]!
    // Bit 31: unknown words compete with words of the dictionary.
    if (found.length === 0 || kind >>> 31 === 1) {
      const list = unknown[(kind >>> 18) & 0xff]!
      for (const end of this.#unknownEnds(text, at, kind)) found.push([end, list])
    }
    for (let last = found.length - 1; last >= 0; last--) this.#connect(at, found[last]![0], found[last]![1])
  }

  /** Ends of the unknown words that begin at `at`. */
  #unknownEnds(text: string, at: number, kind: number): number[] {
    const ends: number[] = []
    const first = at + lengthAt(text, at)
    let groupEnd = -1
    if ((kind & GROUPED) !== 0) {
      let [end, characters, categories] = [first, 0, kind]
      while (end < text.length) {
        const next = this.#kindAt(text, end)
        if ((next & categories & CATEGORIES) === 0) break
        categories = next
        end += lengthAt(text, end)
        characters++
      }
      if (characters <= GROUP_MAX) ends.push(end)
      groupEnd = end
    }
    let end = first
    for (let length = (kind >>> 26) & 15; length > 0 && end !== groupEnd; length--) {
      ends.push(end)
      if (end === text.length || (this.#kindAt(text, end) & kind & CATEGORIES) === 0) break
      end += lengthAt(text, end)
    }
    return ends.length > 0 ? ends : [first]
  }

  #kindAt(text: string, at: number): number {
    return this.#dictionary.kinds[this.#dictionary.kindOf[unitOf(text, at)]!]!
  }

  /** Connects the tokens of a list from `at` to `end` with their cheapest predecessors. */
  #connect(at: number, end: number, list: number): void {
    const { lists, tokens } = this.#dictionary
    for (let token = lists[list + 1]! - 1; token >= lists[list]!; token--) {
      const place = TOKEN_UNITS * token
      const [before, cost] = this.#best(at, tokens[place]!)
      const own = (tokens[place + 2]! << 16) >> 16
      this.#ending[end] = this.#nodes.add(
        at,
        tokens[place + 1]!,
        cost + own,
        before,
        tokens[place + 3]!,
        this.#ending[end]!,
      )
    }
  }

  /** The cheapest node that ends at `at` if a word of class `left` follows, and the cost up to that word. */
  #best(at: number, left: number): [node: number, cost: number] {
    const { costs, rights } = this.#dictionary
    const { cost, right, next } = this.#nodes
    const row = left * rights
    let best = -1
    let least = 0x7fffffff
    for (let node = this.#ending[at]!; node !== -1; node = next[node]!) {
      const sum = cost[node]! + costs[row + right[node]!]!
      if (sum < least) {
        best = node
        least = sum
      }
    }
    return [best, least]
  }
}

/** Candidates of a window. `next` links those with the same end. */
class Nodes {
  count = 0
  start: Uint16Array
  right: Uint16Array
  cost: Int32Array
  before: Int32Array
  cuts: Uint16Array
  next: Int32Array

  constructor(size: number) {
    this.start = new Uint16Array(size)
    this.right = new Uint16Array(size)
    this.cost = new Int32Array(size)
    this.before = new Int32Array(size)
    this.cuts = new Uint16Array(size)
    this.next = new Int32Array(size)
  }

  add(start: number, right: number, cost: number, before: number, cuts: number, next: number): number {
    const node = this.count++
    if (node === this.start.length) this.#grow()
    this.start[node] = start
    this.right[node] = right
    this.cost[node] = cost
    this.before[node] = before
    this.cuts[node] = cuts
    this.next[node] = next
    return node
  }

  #grow(): void {
    const larger = new Nodes(2 * this.start.length)
    for (const name of ['start', 'right', 'cost', 'before', 'cuts', 'next'] as const) {
      larger[name].set(this[name])
      Object.assign(this, { [name]: larger[name] })
    }
  }
}

const isLead = (unit: number): boolean => (unit & 0xfc00) === 0xd800
const isTrail = (unit: number): boolean => (unit & 0xfc00) === 0xdc00

/** UTF-16 units of the character at `at`. */
const lengthAt = (text: string, at: number): number =>
  isLead(text.charCodeAt(at)) && isTrail(text.charCodeAt(at + 1)) ? 2 : 1

/** Unit by which the character at `at` is classified: beyond the basic plane, all characters are like U+0000. */
const unitOf = (text: string, at: number): number => (lengthAt(text, at) === 2 ? 0 : text.charCodeAt(at))

function childOf(labels: Uint16Array, children: Uint32Array, node: number, unit: number): number {
  let low = children[node]!
  let high = children[node + 1]!
  while (low < high) {
    const middle = (low + high) >>> 1
    if (labels[middle]! < unit) low = middle + 1
    else high = middle
  }
  return low < children[node + 1]! && labels[low] === unit ? low : 0
}

/** Cuts a word at its inner boundaries: bit n stands for a boundary after n + 1 units. */
function* parts(word: string, cuts: number): Generator<string> {
  let from = 0
  for (let at = 1; cuts >>> (at - 1) !== 0; at++) {
    if (((cuts >>> (at - 1)) & 1) === 0 || at >= word.length) continue
    yield word.slice(from, at)
    from = at
  }
  yield word.slice(from)
}
