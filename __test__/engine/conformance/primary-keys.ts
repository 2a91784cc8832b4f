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

  const valid = 'integers, and strings of at most 511 characters out of a-z A-Z 0-9 - _ are'
  const messages: readonly (readonly [document: Document, primaryKey: string | null, message: string])[] = [
    [
      { name: 'Fern' },
      null,
      'no field of the first document ends with `id`, so there is no candidate for the primary key; name it ' +
        'with the `primaryKey` parameter',
    ],
    [
      { userid: 1, docId: 2 },
      null,
      '2 fields of the first document end with `id` and could be the primary key, among them `docId` and ' +
        '`userid`; name it with the `primaryKey` parameter',
    ],
    [{ id: 1 }, 'sku', 'the document lacks its primary key `sku`: `{"id":1}`'],
    [
      { a: { b: 1 }, 'a.b': 2 },
      'a.b',
      'the primary key `a.b` leads to several values in the document `{"a":{"b":1},"a.b":2}`',
    ],
    [{ id: 1.5 }, null, `\`1.5\` is no document id: ${valid}`],
    [{ id: '𝒙'.repeat(150) }, null, `\`"${'𝒙'.repeat(99)}…\` is no document id: ${valid}`],
  ]
  for (const [document, primaryKey, message] of messages)
    claim(`${JSON.stringify(document).slice(0, 30)} is refused with its message`, async (t, engine) => {
      const outcome = await engine.outcome('things', await engine.upload([document], { primaryKey }))
      t.is(outcome.error?.message, `index \`things\`: ${message}`)
    })

  claim('an empty payload sets the primary key of its request', async (t, engine) => {
    t.is((await engine.apply('things', await engine.upload([]))).primaryKey, null)
    t.is((await engine.apply('things', await engine.upload([], { primaryKey: 'sku' }))).primaryKey, 'sku')
  })

  claim('changing the primary key is refused while there are documents', async (t, engine) => {
    await engine.put('things', { id: 1 })
    const refused = await engine.outcome('things', { kind: 'primaryKey', primaryKey: 'code' })
    t.is(refused.error?.code, 'index_primary_key_already_exists')
    t.is(
      refused.error?.message,
      'index `things`: the index already has the primary key `id`; it can be changed while there are no documents',
    )
    t.is((await engine.outcome('things', { kind: 'primaryKey', primaryKey: 'id' })).error, undefined)
    t.is((await engine.outcome('things', { kind: 'clear' })).deletedDocuments, 1)
    const report = await engine.apply('things', { kind: 'primaryKey', primaryKey: 'code' })
    t.is(report.primaryKey, 'code')
  })
}
