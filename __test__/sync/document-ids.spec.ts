import test from 'ava'
import { documentId, documentLine, keyOfId } from '../../ts/transfer/sync/document-ids.js'
import fc from '../support/property.js'

const cases: readonly (readonly [readonly string[], string])[] = [
  [['42'], '42'],
  [['abc_D-1'], 'abc_D-1'],
  [['a/b'], '__a_2fb'],
  [['__a'], '___5f_5fa'],
  [['_-a'], '___5f-a'],
  [[''], '__'],
  [['1', 'x y'], '__1__x_20y'],
  [['é'], '___c3_a9'],
]

for (const [key, id] of cases)
  test(`the id of ${JSON.stringify(key)} is ${id}`, (t) => {
    t.is(documentId(key), id)
    t.deepEqual(keyOfId(id, key.length), key)
  })

test('different keys have different, valid ids, and an id leads back to its key', (t) => {
  const text = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 12 }),
    fc.stringMatching(/^[_-]{0,3}[a-f0-9_]{0,4}$/),
  )
  const keys = fc.uniqueArray(fc.array(text, { minLength: 2, maxLength: 2 }), {
    maxLength: 20,
    selector: (key) => JSON.stringify(key),
  })
  fc.assert(
    fc.property(keys, (all) => {
      for (const some of [all, [...new Set(all.map(([first = '']) => first))].map((one) => [one])]) {
        const ids = some.map(documentId)
        t.is(new Set(ids).size, some.length)
        for (const [at, id] of ids.entries()) {
          t.regex(id, /^[A-Za-z0-9_-]{1,511}$/)
          t.deepEqual(keyOfId(id, some[at]!.length), some[at])
        }
      }
    }),
  )
})

test('a key that is too long has a hash as id', (t) => {
  const [a, b] = [documentId(['ä'.repeat(200)]), documentId([`${'ä'.repeat(199)}ö`])]
  t.regex(a, /^_-[0-9a-f]{64}$/)
  t.not(a, b)
  t.is(keyOfId(a, 1), null)
})

test('a document line is one line with the id first', (t) => {
  t.is(documentLine('id', '7', true, '{"a":1}'), '{"id":7,"a":1}')
  t.is(documentLine('id', 'x', false, '{}'), '{"id":"x"}')
  t.is(documentLine('id', 'x', false, '{"a":{"b":\n1}}'), '{"id":"x","a":{"b": 1}}')
})
