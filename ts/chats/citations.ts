/** A document that the model can cite. */
export interface Citation {
  readonly number: number
  readonly index_uid: string
}

/** Numbers the documents of a conversation. The same document keeps its number. */
export class Citations {
  readonly #numbers = new Map<string, number>()
  #next: number

  /** @param results texts of earlier searches in the conversation, whose numbers are not used again */
  constructor(results: readonly string[]) {
    this.#next = 1
    for (const text of results)
      for (const [, digits] of text.matchAll(/^\[(\d{1,6})\] /gm))
        this.#next = Math.max(this.#next, Number(digits) + 1)
  }

  /** @param json the displayed fields of the document */
  of(indexUid: string, json: string): Citation {
    const key = `${indexUid} ${json}`
    let number = this.#numbers.get(key)
    if (number === undefined) {
      number = this.#next
      this.#next += 1
      this.#numbers.set(key, number)
    }
    return { number, index_uid: indexUid }
  }
}
