/**
 * Extracts words and their positions from changed documents.
 *
 * Source: search §3.2.
 * 1. The first word of a leaf is at the counter of its field; each further leaf of the field starts 8 positions later.
 * 2. A hard separator moves the next word by 8 positions, anything else by 1.
 * 3. Stop words take a position but are not stored.
 * 4. Positions from 65,536, and words over 250 bytes, are not stored.
 */
import type { IndexSettings } from '../../../settings/index.js'
import { HARD, STOP_WORD, type Tokenizer, WORD } from '../analysis/tokenize.js'
import { trimmed, visitLeaves } from '../fields/flatten.js'
import { localesOf, searchWeight } from '../fields/rules.js'
import { LENGTH_COUNTED_MAX, POSITIONS_MAX, WORD_BYTES_MAX } from '../limits.js'
import type { JsonObject } from '../store/json.js'

const STEP = 8

/** Receives a stored word of a document. */
type WordSink = (word: string, field: number, position: number) => void

interface FieldState {
  readonly id: number
  readonly locales: readonly string[]
  counter: number
  words: number
}

/** Tokenizes documents with fixed settings. */
export class TextWriter {
  private readonly settings: IndexSettings
  private readonly tokenizer: Tokenizer
  private readonly idOf: (path: string) => number
  private readonly known = new Map<string, { id: number; locales: readonly string[] } | null>()

  constructor(settings: IndexSettings, tokenizer: Tokenizer, idOf: (path: string) => number) {
    this.settings = settings
    this.tokenizer = tokenizer
    this.idOf = idOf
  }

  /** Passes every stored word to `sink`. @returns pairs (field, number of stored words) of short fields */
  write(document: JsonObject, sink: WordSink): Uint16Array {
    const fields = new Map<string, FieldState>()
    visitLeaves(document, (path, text) => {
      let field = fields.get(path)
      if (field === undefined) {
        const known = this.field(path)
        if (known === null) return
        field = { ...known, counter: 0, words: 0 }
        fields.set(path, field)
      } else field.counter += STEP
      if (text !== null && field.counter < POSITIONS_MAX) this.writeLeaf(text, field, sink)
    })
    const lengths: number[] = []
    for (const { id, words } of fields.values())
      if (words > 0 && words <= LENGTH_COUNTED_MAX) lengths.push(id, words)
    return Uint16Array.from(lengths)
  }

  private field(path: string): { id: number; locales: readonly string[] } | null {
    let field = this.known.get(path)
    if (field === undefined) {
      field =
        searchWeight(this.settings, path) === null
          ? null
          : { id: this.idOf(path), locales: localesOf(this.settings, path) ?? [] }
      this.known.set(path, field)
    }
    return field
  }

  private writeLeaf(text: string, field: FieldState, sink: WordSink): void {
    let position = field.counter
    let first = true
    let hard = false
    // Every word after the first takes at least one position.
    const wordsMax = POSITIONS_MAX - position
    for (const { kind, word } of this.tokenizer.tokenize(text, field.locales, wordsMax)) {
      if (kind !== WORD && kind !== STOP_WORD) {
        if (kind === HARD) hard = true
        continue
      }
      // Only marks or control characters: takes no position.
      if (word === '') continue
      if (!first) position += hard ? STEP : 1
      first = false
      hard = false
      if (position >= POSITIONS_MAX) return
      const stored = trimmed(word)
      if (
        kind === WORD &&
        stored !== '' &&
        (stored.length <= 62 || Buffer.byteLength(stored) <= WORD_BYTES_MAX)
      ) {
        sink(stored, field.id, position)
        field.words++
        field.counter = position
      }
    }
  }
}
