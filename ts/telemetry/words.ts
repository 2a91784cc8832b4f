/** Distinct words recorded per metric. Clients choose some words, such as user agents. */
const WORDS_MAX = 100
/** Characters recorded per word. */
const WORD_CHARS_MAX = 200

/** A set of words in bounded memory. */
export class Words {
  readonly #words = new Set<string>()
  /** Clients repeat words, so comparing with the last word mostly avoids the set. */
  #last: string | undefined

  constructor(private readonly max = WORDS_MAX) {}

  get size(): number {
    return this.#words.size
  }

  add(word: string): void {
    if (word === this.#last) return
    this.#last = word
    if (this.#words.size < this.max) this.#words.add(word.slice(0, WORD_CHARS_MAX))
  }

  sorted(): readonly string[] {
    return [...this.#words].sort()
  }
}

/** The client names in headers, separated by semicolons. */
export class Agents {
  readonly #names = new Words()
  #last: string | undefined

  /** @param header undefined: the client sent no name */
  add(header = 'unknown'): void {
    if (header === this.#last) return
    this.#last = header
    for (const name of header.split(';')) {
      const trimmed = name.trim()
      if (trimmed !== '') this.#names.add(trimmed)
    }
  }

  sorted(): readonly string[] {
    return this.#names.sorted()
  }
}

/** The most frequent of a few words. */
export class MostUsed {
  readonly #counts = new Map<string, number>()

  add(word: string): void {
    const count = this.#counts.get(word)
    if (count !== undefined || this.#counts.size < WORDS_MAX) this.#counts.set(word, (count ?? 0) + 1)
  }

  /** Returns null if none was added. */
  word(): string | null {
    let [best, most]: [string | null, number] = [null, 0]
    for (const [word, count] of this.#counts) if (count > most) [best, most] = [word, count]
    return best
  }
}
