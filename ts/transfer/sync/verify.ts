/** Compares the documents of an index with the rows of their table. */
import { isDeepStrictEqual } from 'node:util'
import { type Copy, linesOf, orphansOf, withoutRows } from './copying.js'
import type { IdentifiedLine } from './destination.js'
import { COPY_ROWS_FIRST, IDS_MAX } from './limits.js'
import type { Key } from './source.js'

export interface Mismatch {
  readonly id: string
  readonly kind: 'missing' | 'different' | 'superfluous'
  /** The document as it should be; null: it should not exist. */
  readonly expected: IdentifiedLine | null
}

/** Yields the differences of an index. Changes during the comparison may appear as differences. */
export async function* mismatchesOf(
  copy: Pick<Copy, 'source' | 'target' | 'mapping' | 'facts' | 'signal'>,
): AsyncGenerator<Mismatch> {
  const { source, target, mapping, facts, signal } = copy
  const { uid } = mapping
  for (let after: Key | null = null; ; ) {
    signal.throwIfAborted()
    const page = await source.page(uid, after, COPY_ROWS_FIRST)
    const lines = linesOf(facts, page.documents)
    const found = new Map<string, Readonly<Record<string, unknown>>>()
    if (lines.length > 0)
      for (const document of await target.documentsOf(
        uid,
        lines.map(({ id }) => id),
      ))
        found.set(String(document[facts.primaryKey]), document)
    for (const expected of lines) {
      const document = found.get(expected.id)
      if (document === undefined) yield { id: expected.id, kind: 'missing', expected }
      else if (!isSame(document, expected.line)) yield { id: expected.id, kind: 'different', expected }
    }
    if (page.last === null) break
    after = page.last
  }
  // All are listed before the caller removes one, which would move others to positions already read.
  const orphans = await orphansOf(copy)
  for (let at = 0; at < orphans.length; at += IDS_MAX)
    // Their rows may have been added meanwhile.
    for (const id of await withoutRows(source, uid, facts, orphans.slice(at, at + IDS_MAX)))
      yield { id, kind: 'superfluous', expected: null }
}

/** Vectors are not compared: the server returns them only on request and in another form. */
function isSame(document: Readonly<Record<string, unknown>>, line: string): boolean {
  const { _vectors: _found, ...found } = document
  const { _vectors: _expected, ...expected } = JSON.parse(line) as Record<string, unknown>
  return isDeepStrictEqual(found, expected)
}
