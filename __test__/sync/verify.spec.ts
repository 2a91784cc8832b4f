import test from 'ava'
import { type Destination, type Mapping, mismatchesOf, type Source } from '../../ts/transfer/sync/index.js'

test('documents without a row are all found if they are removed meanwhile, unless they get a row', async (t) => {
  const rows = new Set(['7'])
  const documents = new Set(Array.from({ length: 12_000 }, (_, at) => String(at)))
  const target: Partial<Destination> = {
    ids: async (_uid, _primaryKey, offset, limit) => [...documents].slice(offset, offset + limit),
  }
  const source: Partial<Source> = {
    page: async () => ({ documents: [], last: null }),
    read: async (_uid, keys) => keys.filter(([id = '']) => rows.has(id)).map((key) => ({ key, json: '{}' })),
  }
  const facts = { primaryKey: 'id', keyColumns: 1, estimatedRows: 0, hasNumberId: true, fingerprint: 'f' }
  const { signal } = new AbortController()
  const copy = {
    source: source as Source,
    target: target as Destination,
    mapping: { uid: 'films' } as Mapping,
    facts,
    signal,
  }
  let found = 0
  for await (const { id, kind } of mismatchesOf(copy)) {
    if (kind === 'superfluous') found++
    documents.delete(id)
    rows.add('11000')
  }
  t.deepEqual([found, ...documents], [11_998, '7', '11000'])
})
