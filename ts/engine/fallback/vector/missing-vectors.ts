/** Reports documents without the vectors that only the user can provide. */
import { OperationError } from '../indexing/primary-key.js'
import type { Json, JsonObject } from '../store/json.js'
import type { Embedder } from './embedder.js'

/** Number of documents that a message names; the rest are counted. */
const NAMED_MAX = 10

/** Maximum edits between a misspelt key and the name it stands for. Source: vectors §4. */
const EDITS_MAX = 2

/** Documents without vectors, for an embedder that generates none. */
export class MissingVectors {
  private readonly ids: string[] = []
  private embedder: Embedder | null = null
  private hint = ''

  /** @param document with its `_vectors`, or without the vectors of embedders */
  note(id: string, embedder: Embedder, document: JsonObject): void {
    this.embedder ??= embedder
    if (this.embedder !== embedder) return
    this.ids.push(id)
    if (this.hint !== '' || this.ids.length > NAMED_MAX) return
    const found = misspelt(document, embedder.name)
    if (found === null) return
    this.hint = `; did you mean \`${found.meant}\` by the \`${found.key}\` of document \`${id}\`?`
  }

  /** @throws OperationError `vector_embedding_error` that names the documents */
  throwIfAny(): void {
    const { ids, embedder, hint } = this
    if (embedder === null) return
    const named = ids.slice(0, NAMED_MAX).map((id) => `\`${id}\``)
    const more = ids.length > NAMED_MAX ? ` and ${ids.length - NAMED_MAX} more` : ''
    const reason =
      'its source is `userProvided`, so each document brings them under ' +
      `\`_vectors.${embedder.name}\`, or \`null\` to have none`
    throw new OperationError(
      'vector_embedding_error',
      `the embedder \`${embedder.name}\` has no vectors for document(s) ${named.join(', ')}${more}: ${reason}${hint}`,
    )
  }
}

interface Misspelt {
  readonly key: string
  readonly meant: string
}

/**
 * Returns the first key of a document similar to `_vectors`, or the first key in `_vectors` similar to the embedder
 * name.
 */
function misspelt(document: JsonObject, embedder: string): Misspelt | null {
  const firstSimilar = (keys: Iterable<string>, meant: string): Misspelt | null => {
    for (const key of keys) if (key !== meant && isSimilar(key, meant)) return { key, meant }
    return null
  }
  const inner: Json | undefined = document.get('_vectors')
  return (
    firstSimilar(document.keys(), '_vectors') ??
    (inner instanceof Map ? firstSimilar(inner.keys(), embedder) : null)
  )
}

/** Returns true if `key` is at most a few edits from `name`, and fewer than `name` has characters. */
function isSimilar(key: string, name: string): boolean {
  const [a, b] = [[...key], [...name]]
  const most = Math.min(EDITS_MAX, b.length - 1)
  return Math.abs(a.length - b.length) <= most && edits(a, b) <= most
}

/** Levenshtein distance: insertions, deletions and replacements. */
function edits(a: readonly string[], b: readonly string[]): number {
  const row = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (const [i, left] of a.entries()) {
    let diagonal = row[0]!
    row[0] = i + 1
    for (const [j, right] of b.entries()) {
      const replaced = diagonal + (left === right ? 0 : 1)
      diagonal = row[j + 1]!
      row[j + 1] = Math.min(replaced, row[j]! + 1, diagonal + 1)
    }
  }
  return row[b.length]!
}
