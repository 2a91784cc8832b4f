/** Requests the missing vectors of a prepared batch from the embedders. */
import {
  type DocumentsPage,
  type EmbeddedPage,
  type Embedders,
  embeddingError,
  type SpooledVectors,
} from '../../embedding/index.js'
import {
  type Engine,
  NO_FRAGMENT,
  type Prepared,
  type VectorPage,
  type WorkPage,
} from '../../engine/index.js'
import type { EmbedderCounts } from '../listing/view.js'

interface EmbeddingRun {
  readonly engine: Engine
  readonly embedders: Embedders
  /** Received vectors of this index that earlier batches did not commit. */
  readonly spooled: SpooledVectors
  readonly signal: AbortSignal
  readonly counts: EmbedderCounts
  /** Sets the progress within the step. */
  count(unit: string, finished: number, total: number): void
}

/**
 * Returns the vectors that documents of the batch lack.
 * @throws ApiError of an embedder; also rejects when the signal is aborted
 */
export async function vectorsFor(prepared: Prepared, run: EmbeddingRun): Promise<readonly VectorPage[]> {
  const { engine, embedders, spooled, signal, counts, count } = run
  const made: VectorPage[] = []
  const embedding: WorkPage[] = []
  let finished = 0
  count('document', finished, prepared.work)
  for await (const documents of embedders.documents(pages(), { spooled, signal, counts })) {
    const page = embedding.shift()!
    const vectors = vectorPage(page, documents)
    if (vectors.docids.length > 0) made.push(vectors)
    finished += page.items.length
    count('document', finished, prepared.work)
  }
  return made

  async function* pages(): AsyncGenerator<DocumentsPage> {
    for (let from: string | null = null; ; ) {
      const page: WorkPage | null = await engine.work(prepared, from)
      if (page === null) return
      embedding.push(page)
      const { items: subjects, after, before } = page
      yield { subjects, after, before }
      from = page.next
    }
  }
}

function vectorPage({ embedder, items }: WorkPage, documents: EmbeddedPage): VectorPage {
  const changed = documents.flatMap((document, at) => {
    const item = items[at]
    return document === null || item === undefined ? [] : [{ docid: item.docid, ...document }]
  })
  const slots = changed.flatMap((document) => document.slots)
  const vectors = changed.flatMap((document) => document.vectors)
  const tooMany = changed.find((document) => document.slots.length > NO_FRAGMENT)
  if (tooMany !== undefined) throw embeddingError(`a document has ${tooMany.slots.length} fragments`)
  const dimensions = vectors[0]?.length ?? 0
  const rows = new Float32Array(vectors.length * dimensions)
  for (const [at, vector] of vectors.entries()) rows.set(vector, at * dimensions)
  return {
    embedder,
    docids: Uint32Array.from(changed, ({ docid }) => docid),
    counts: Uint8Array.from(changed, (document) => document.slots.length),
    fragments: Uint8Array.from(slots, ({ fragment }) => fragment ?? NO_FRAGMENT),
    reused: Uint8Array.from(slots, ({ input }) => (input === undefined ? 1 : 0)),
    rows,
  }
}
