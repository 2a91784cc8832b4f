/** Writing, reading, listing and deleting documents. */
import type { TestEngine } from '../../support/engine.js'
import type { TestedEngine } from '../../support/engines.js'
import { claimsOf } from './claims.js'

export function documents(tested: TestedEngine): void {
  const claim = claimsOf(tested)

  claim('a deleted document is not found by the next search', async (t, engine) => {
    await engine.put('films', { id: 1, title: 'Solaris' }, { id: 2, title: 'Stalker' })
    const { deletedDocuments } = await engine.outcome('films', {
      kind: 'deleteByIds',
      ids: ['1', '9', 'no id!'],
    })
    t.is(deletedDocuments, 1)
    t.deepEqual(await engine.idsFor('films', 'solaris'), [])
    t.deepEqual(await engine.idsFor('films', 's'), [2])
  })

  claim('documents are returned exactly as sent', async (t, engine) => {
    const text =
      '{"z":1.0,"id":7,"10":"ten","2":"two","big":9007199254740993,"o":{"b":1,"a":[null,true]},"s":"é\\n"}'
    await engine.apply('things', await engine.upload(`[ ${text} ]`))
    t.is(await engine.documentText('things', '7'), text)
    t.is(
      await engine.documentText('things', '7', { fields: ['o.a', 's'] }),
      '{"o":{"a":[null,true]},"s":"é\\n"}',
    )
    t.is(await engine.documentText('things', '7', { fields: [] }), '{}')
    t.is(await engine.documentText('things', '8'), null)
    t.true((await engine.searchText('things', { q: 'ten' })).includes(`"hits":[${text}]`))
  })

  claim('a field name with a dot is selected only by its full name', async (t, engine) => {
    await engine.put('things', { id: 1, 'a.b': 1 }, { id: 2, a: { b: 1, c: 2 } })
    t.is(await engine.documentText('things', '1', { fields: ['a'] }), '{}')
    t.is(await engine.documentText('things', '1', { fields: ['a.b'] }), '{"a.b":1}')
    t.is(await engine.documentText('things', '2', { fields: ['a'] }), '{"a":{"b":1,"c":2}}')
    t.is(await engine.documentText('things', '2', { fields: ['a.b'] }), '{"a":{"b":1}}')
  })

  claim('a repeated key keeps its last value', async (t, engine) => {
    await engine.apply('things', await engine.upload('[{"id":1,"a":1,"a":2}]'))
    t.is(await engine.documentText('things', '1'), '{"id":1,"a":2}')
  })

  claim('replace swaps a document, update merges its fields', async (t, engine) => {
    await engine.put('things', { id: 1, a: 1, o: { x: 1, y: 2 } })
    await engine.apply('things', await engine.upload([{ id: 1, b: null, o: { x: 5 } }], { method: 'update' }))
    t.is(await engine.documentText('things', '1'), '{"id":1,"a":1,"o":{"x":5},"b":null}')
    await engine.put('things', { id: '1', c: 3 })
    t.is(await engine.documentText('things', '1'), '{"id":"1","c":3}')
    t.is((await engine.engine.stats('things')).numberOfDocuments, 1)
  })

  claim('a repeated id in a payload is merged or replaced in order', async (t, engine) => {
    const twice = [
      { id: 1, a: 1 },
      { id: 1, b: 2 },
    ]
    const merged = await engine.outcome('things', await engine.upload(twice, { method: 'update' }))
    t.is(merged.indexedDocuments, 1)
    t.is(await engine.documentText('things', '1'), '{"id":1,"a":1,"b":2}')
    await engine.outcome('things', await engine.upload(twice))
    t.is(await engine.documentText('things', '1'), '{"id":1,"b":2}')
  })

  claim('skipCreation ignores unknown documents but counts them', async (t, engine) => {
    await engine.put('things', { id: 1, n: 1 })
    const upload = await engine.upload([{ id: 1, n: 2 }, { id: 8 }], { skipCreation: true })
    t.is((await engine.outcome('things', upload)).indexedDocuments, 2)
    t.is(await engine.documentText('things', '8'), null)
    t.is(await engine.documentText('things', '1'), '{"id":1,"n":2}')
  })

  claim('a failed task changes nothing, and the other tasks of its batch succeed', async (t, engine) => {
    await engine.put('things', { id: 1 })
    const report = await engine.apply(
      'things',
      await engine.upload([{ id: 5 }, { name: 'no id' }]),
      await engine.upload([{ id: 6 }]),
      await engine.upload([{ sku: 1 }], { primaryKey: 'sku' }),
    )
    t.deepEqual(
      report.outcomes.map(({ error, indexedDocuments }) => [error?.code ?? null, indexedDocuments]),
      [
        ['missing_document_id', 0],
        [null, 1],
        ['index_primary_key_already_exists', 0],
      ],
    )
    t.is(report.documents, 2)
    t.is(await engine.documentText('things', '5'), null)
  })

  claim('documents are listed by docid, filter, ids and sort', async (t, engine) => {
    await engine.configure('things', { filterableAttributes: ['n', 'g'], sortableAttributes: ['n'] })
    await engine.put('things', { id: 2, n: 5, g: 'u' }, { id: 1, n: 9, g: 'v' }, { id: 3, g: 'u' })
    const ids = async (request: Parameters<TestEngine['documents']>[1]): Promise<unknown[]> =>
      (await engine.documents('things', request)).results.map(({ id }) => id)
    t.deepEqual(await ids({}), [2, 1, 3])
    t.deepEqual(await ids({ sort: ['n:desc'] }), [1, 2, 3])
    t.deepEqual(await ids({ sort: ['n:asc'] }), [2, 1, 3])
    t.deepEqual(await ids({ filter: 'n > 5' }), [1])
    t.deepEqual(await ids({ ids: ['3', '2', '99'] }), [2, 3])
    t.deepEqual(await ids({ ids: [] }), [])
    t.deepEqual(await engine.documents('things', { offset: 1, limit: 1, fields: ['n'] }), {
      results: [{ n: 9 }],
      offset: 1,
      limit: 1,
      total: 3,
    } as never)
    const codes = [
      [{ sort: ['g:asc'] }, 'invalid_document_sort'],
      [{ filter: 'id = 1' }, 'invalid_document_filter'],
      [{ ids: ['b!d'] }, 'invalid_document_ids'],
    ] as const
    for (const [request, code] of codes) {
      const error = await t.throwsAsync(engine.documents('things', request))
      t.is((error as { code?: string } | undefined)?.code, code)
    }
  })

  claim('deleteByFilter returns the number of deleted documents', async (t, engine) => {
    await engine.configure('things', { filterableAttributes: ['g'] })
    await engine.put('things', { id: 1, g: 'u' }, { id: 2, g: 'v' }, { id: 3, g: 'u' })
    const refused = await engine.outcome('things', { kind: 'deleteByFilter', filter: 'z = 1' })
    t.deepEqual([refused.error?.code, refused.deletedDocuments], ['invalid_document_filter', 0])
    const report = await engine.apply('things', await engine.upload([{ id: 4, g: 'u' }]), {
      kind: 'deleteByFilter',
      filter: ['g = u'],
    })
    t.is(report.outcomes[1]?.deletedDocuments, 3)
    t.is(report.documents, 1)
  })

  claim('free docids are reused in ascending order', async (t, engine) => {
    await engine.put('things', { id: 1 }, { id: 2 }, { id: 3 })
    await engine.outcome('things', { kind: 'deleteByIds', ids: ['1', '2'] })
    await engine.put('things', { id: 8 }, { id: 9 }, { id: 10 })
    const { results } = await engine.documents('things')
    t.deepEqual(
      results.map(({ id }) => id),
      [8, 9, 3, 10],
    )
  })
}
