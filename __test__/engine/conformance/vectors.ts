/** Vectors of documents over commits and restarts. */
import type { TestEngine } from '../../support/engine.js'
import type { TestedEngine } from '../../support/engines.js'
import { claimsOf } from './claims.js'

const index = 'pts'
const embedders = { v: { source: 'userProvided', dimensions: 2 } }

export function vectors(tested: TestedEngine): void {
  const claim = claimsOf(tested)
  const vectorsOf = async (engine: TestEngine, id: string): Promise<unknown> => {
    const text = await engine.documentText(index, id, { retrieveVectors: true })
    return (JSON.parse(text!) as { _vectors: { v: { embeddings: unknown } } })._vectors.v.embeddings
  }

  claim('vectors survive a restart, also after embedders were removed and added', async (t, engine) => {
    await engine.configure(index, { embedders })
    await engine.put(
      index,
      { id: 'a', _vectors: { v: [3, 4] } },
      {
        id: 'b',
        _vectors: {
          v: [
            [1, 0],
            [0, 1],
          ],
        },
      },
    )
    await engine.put(index, { id: 'a', t: 'x' })
    await engine.outcome(index, { kind: 'deleteByIds', ids: ['b'] })
    await engine.reopen()
    t.deepEqual(await vectorsOf(engine, 'a'), [[3, 4]])
    t.is((await engine.engine.stats(index)).numberOfEmbeddings, 1)
    // Vectors written back to the document are found again; those stored earlier are not.
    await engine.configure(index, { embedders: {} })
    await engine.put(index, { id: 'a', _vectors: { v: [5, 6] } })
    await engine.reopen()
    await engine.configure(index, { embedders })
    await engine.reopen()
    t.deepEqual(await vectorsOf(engine, 'a'), [[5, 6]])
    t.is((await engine.engine.stats(index)).numberOfEmbeddings, 1)
  })

  claim('only the last version of a document in a body needs vectors', async (t, engine) => {
    await engine.configure(index, { embedders: { ...embedders, w: embedders.v } })
    const both = { v: [3, 4], w: [1, 2] }
    const late = [{ id: 'a' }, { id: 'a', _vectors: { v: [1, 1] } }, { id: 'b' }, { id: 'a', _vectors: both }]
    const outcome = await engine.put(index, ...late)
    t.is(
      outcome.error?.message,
      'index `things`: the embedder `v` has no vectors for document(s) `b`: its source is `userProvided`, so each document ' +
        'brings them under `_vectors.v`, or `null` to have none',
    )
    const partly = await engine.put(index, ...late.slice(0, 2), { id: 'b', _vectors: both })
    t.is(partly.error?.code, 'vector_embedding_error')
    t.regex(partly.error!.message, /`w` has no vectors for document\(s\) `a`:/)
    t.is((await engine.put(index, ...late, { id: 'b', _vectors: both })).error ?? null, null)
    t.deepEqual(await vectorsOf(engine, 'a'), [[3, 4]])
  })

  claim('an abandoned batch leaves no vectors, and the next batch is complete', async (t, engine) => {
    await engine.configure(index, { embedders })
    await engine.put(index, { id: 'a', _vectors: { v: [3, 4] } })
    const task = await engine.upload([{ id: 'a', _vectors: { v: [7, 7] } }])
    const batch = { uid: 999, indexUid: index, operations: [{ taskUid: 1, ...task }] }
    const prepared = await engine.engine.prepare(index, batch as Parameters<typeof engine.engine.prepare>[1])
    await engine.engine.abandon(prepared)
    t.deepEqual(await vectorsOf(engine, 'a'), [[3, 4]])
    await engine.put(index, { id: 'b', _vectors: { v: [1, 1] } })
    await engine.reopen()
    t.deepEqual(await vectorsOf(engine, 'a'), [[3, 4]])
    t.deepEqual(await vectorsOf(engine, 'b'), [[1, 1]])
  })

  claim('a reused docid has no vectors of its previous document', async (t, engine) => {
    await engine.configure(index, { embedders })
    await engine.put(index, { id: 'a', _vectors: { v: [3, 4] } })
    await engine.apply(
      index,
      { kind: 'deleteByIds', ids: ['a'] },
      await engine.upload([{ id: 'b', _vectors: { v: null } }]),
    )
    t.deepEqual(await vectorsOf(engine, 'b'), [])
    await engine.apply(index, { kind: 'clear' }, await engine.upload([{ id: 'c', _vectors: { v: [9, 9] } }]))
    await engine.reopen()
    t.deepEqual(await vectorsOf(engine, 'c'), [[9, 9]])
    t.is((await engine.engine.stats(index)).numberOfEmbeddings, 1)
    t.deepEqual(await engine.engine.verify(index), [])
  })
}
