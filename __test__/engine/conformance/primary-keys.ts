/** Primary keys: inference and valid values. */
import type { Document } from '../../support/engine.js'
import type { TestedEngine } from '../../support/engines.js'
import { claimsOf } from './claims.js'

export function primaryKeys(tested: TestedEngine): void {
  const claim = claimsOf(tested)

  const keys: readonly (readonly [
    name: string,
    document: Document,
    primaryKey: string | null,
    code: string | null,
  ])[] = [
    ['a field ending in id is the primary key', { bookId: 4, title: 'Fern' }, null, null],
    ['no field ends in id', { name: 'Fern' }, null, 'index_primary_key_no_candidate_found'],
    ['two fields end in id', { userid: 1, docId: 2 }, null, 'index_primary_key_multiple_candidates_found'],
    ['a candidate need not hold an id', { paid: true }, null, 'invalid_document_id'],
    ['a nested primary key', { ref: { code: 'k-1' } }, 'ref.code', null],
    [
      'a primary key in two places',
      { ref: { code: 'k' }, 'ref.code': 'j' },
      'ref.code',
      'invalid_document_id',
    ],
    ['the primary key is missing', { id: 1 }, 'sku', 'missing_document_id'],
    ['a blank in an id', { id: 'a b' }, null, 'invalid_document_id'],
    ['a fraction as id', { id: 1.5 }, null, 'invalid_document_id'],
    ['null as id', { id: null }, null, 'invalid_document_id'],
    ['an empty id', { id: '' }, null, 'invalid_document_id'],
    ['a letter with an accent in an id', { id: 'é' }, null, 'invalid_document_id'],
    ['an id of 511 characters', { id: 'z'.repeat(511) }, null, null],
    ['an id of 512 characters', { id: 'z'.repeat(512) }, null, 'invalid_document_id'],
    ['a negative id', { id: -3 }, null, null],
  ]
  for (const [name, document, primaryKey, code] of keys)
    claim(`${name}: ${code ?? 'accepted'}`, async (t, engine) => {
      const report = await engine.apply('things', await engine.upload([document], { primaryKey }))
      t.is(report.outcomes[0]?.error?.code ?? null, code as never)
      t.is(report.outcomes[0]?.indexedDocuments, code === null ? 1 : 0)
      t.is(report.documents, code === null ? 1 : 0)
      t.is(report.primaryKey === null, code !== null)
    })

  claim('an empty payload sets the primary key of its request', async (t, engine) => {
    t.is((await engine.apply('things', await engine.upload([]))).primaryKey, null)
    t.is((await engine.apply('things', await engine.upload([], { primaryKey: 'sku' }))).primaryKey, 'sku')
  })

  claim('changing the primary key is refused while there are documents', async (t, engine) => {
    await engine.put('things', { id: 1 })
    const refused = await engine.outcome('things', { kind: 'primaryKey', primaryKey: 'code' })
    t.is(refused.error?.code, 'index_primary_key_already_exists')
    t.is((await engine.outcome('things', { kind: 'primaryKey', primaryKey: 'id' })).error, undefined)
    t.is((await engine.outcome('things', { kind: 'clear' })).deletedDocuments, 1)
    const report = await engine.apply('things', { kind: 'primaryKey', primaryKey: 'code' })
    t.is(report.primaryKey, 'code')
  })
}
