/** Reports documents without the vectors that only the user can provide. */
import { OperationError } from '../indexing/primary-key.js'
import type { Json, JsonObject } from '../store/json.js'
import type { Embedder } from './embedder.js'

/** Number of documents that a message names; the rest are counted. */
const NAMED_MAX = 10

/** Maximum edits between a misspelt key and the name it stands for. Source: vectors §4. */
const EDITS_MAX = 2

/** Documents without the vectors that only the user can provide. */
export class MissingVectors {
  /** Documents without vectors of an embedder, in the order of the first document of each embedder. */
  private readonly embedders = new Map<string, MissingOf>()

  /** @param document with its `_vectors`, or without the vectors of embedders */
  note(id: string, { name }: Embedder, document: JsonObject): void {
    const missing = this.embedders.get(name) ?? { ids: new Set(), hints: new Map() }
    this.embedders.set(name, missing)
    missing.ids.add(id)
    const found = missing.ids.size > NAMED_MAX ? null : misspelt(document, name)
    if (found !== null && !missing.hints.has(id))
      missing.hints.set(
        id,
        `; did you mean \`${found.meant}\` by the \`${found.key}\` of document \`${id}\`?`,
      )
  }

  /**
   * Throws if a document was noted, except those for which `isProvided` returns true: a later version in the same body
   * may bring the vectors.
   * @throws OperationError `vector_embedding_error` about the first embedder with such documents, naming some of them
   */
  throwIfAny(isProvided: (id: string, embedder: string) => boolean = () => false): void {
    for (const [name, { ids: noted, hints }] of this.embedders) {
      const ids = [...noted].filter((id) => !isProvided(id, name))
      if (ids.length === 0) continue
      const named = ids.slice(0, NAMED_MAX).map((id) => `\`${id}\``)
      const more = ids.length > NAMED_MAX ? ` and ${ids.length - NAMED_MAX} more` : ''
      const hint = [...hints].find(([id]) => ids.includes(id))?.[1] ?? ''
      throw new OperationError(
        'vector_embedding_error',
        `the embedder \`${name}\` has no vectors for document(s) ${named.join(', ')}${more}: its source is ` +
          `\`userProvided\`, so each document brings them under \`_vectors.${name}\`, or \`null\` to have none${hint}`,
      )
    }
  }
}

/** Documents without vectors of an embedder. */
interface MissingOf {
  readonly ids: Set<string>
  /** Id of one of the first documents → a sentence about a key in it that may be misspelt. */
  readonly hints: Map<string, string>
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
