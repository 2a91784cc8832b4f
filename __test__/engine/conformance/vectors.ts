/** Vectors of documents over commits and restarts. */
import { encodeRequest } from '../../../ts/engine/encoding.js'
import type { SearchAnswer, TestEngine } from '../../support/engine.js'
import type { TestedEngine } from '../../support/engines.js'
import { claimsOf } from './claims.js'

const index = 'pts'
const embedders = { v: { source: 'userProvided', dimensions: 2 } }
const features = { containsFilter: false, legacySearch: false, multimodal: false, foreignKeys: false }

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

  claim(
    'once a document had vectors, a list of displayed attributes shows them by not naming them',
    async (t, engine) => {
      for (const [uid, settings, carried] of [
        ['stored', {}, { w: [1] }],
        ['embedded', { embedders }, { v: [1, 2] }],
        ['optional', { embedders }, { v: null }],
      ] as const) {
        await engine.configure(uid, { displayedAttributes: ['t'], ...settings })
        await engine.put(uid, { id: 'a', t: 'x', _vectors: carried })
        await engine.put(uid, { id: 'a', t: 'x', _vectors: { v: null } })
        await engine.outcome(uid, { kind: 'deleteByIds', ids: ['a'] })
        await engine.put(uid, { id: 'b', t: 'x', ...('embedders' in settings && { _vectors: { v: null } }) })
        const shown = async (): Promise<boolean> =>
          '_vectors' in (await engine.search(uid, { retrieveVectors: true })).hits[0]!
        t.true(await shown(), uid)
        await engine.configure(uid, { displayedAttributes: ['t', '_vectors'], ...settings })
        t.false(await shown(), uid)
      }
      await engine.configure('never', { displayedAttributes: ['t'] })
      await engine.put('never', { id: 'b', t: 'x' })
      t.deepEqual((await engine.search('never', { retrieveVectors: true })).hits, [{ t: 'x' }])
    },
  )

  const similarTo = async (engine: TestEngine, id: string, threshold: number | null) => {
    const request = {
      ...{ id, embedder: 'v', indexUid: index, offset: 0, limit: 20, rankingScoreThreshold: threshold },
      ...{ visible: null, filter: null, attributesToRetrieve: ['id'], retrieveVectors: false, features },
      ...{ showRankingScore: false, showRankingScoreDetails: true, showPerformanceDetails: false },
    }
    const { body } = await engine.engine.similar(index, encodeRequest(request))
    const { hits, estimatedTotalHits } = JSON.parse(Buffer.from(body).toString()) as SearchAnswer
    return { ids: hits.map(({ id }) => id), total: estimatedTotalHits, hits }
  }

  for (const rankingRules of [['n:asc', 'words', 'exactness'], ['n:asc']])
    claim(`similar documents are ordered by similarity alone, not by ${rankingRules}`, async (t, engine) => {
      await engine.configure(index, { embedders, rankingRules })
      await engine.put(
        index,
        { id: 'a', n: 1, _vectors: { v: [1, 0] } },
        { id: 'b', n: 2, _vectors: { v: [0, 1] } },
        { id: 'c', n: 3, _vectors: { v: [4, 1] } },
      )
      const { ids, hits } = await similarTo(engine, 'a', null)
      t.deepEqual(ids, ['c', 'b'])
      t.deepEqual(hits[1]!._rankingScoreDetails, { vectorSort: { order: 0, similarity: 0.5 } })
    })

  claim('a threshold reduces the total of similar documents if some are below it', async (t, engine) => {
    await engine.configure(index, { embedders })
    await engine.put(
      index,
      { id: 'a', _vectors: { v: [1, 0] } },
      { id: 'b', _vectors: { v: [0, 1] } },
      { id: 'c', _vectors: { v: null } },
    )
    for (const [threshold, ids, total] of [
      [null, ['b'], 2],
      [0, ['b'], 2],
      [0.5, ['b'], 1],
      [0.9, [], 0],
    ] as const)
      t.like(await similarTo(engine, 'a', threshold), { ids, total }, `${threshold}`)
    await engine.outcome(index, { kind: 'deleteByIds', ids: ['b'] })
    // No other document has vectors, so no document is ranked.
    t.like(await similarTo(engine, 'a', 0.5), { ids: [], total: 1 })
  })
}
