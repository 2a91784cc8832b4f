/** Filters on elements must match a single element. Compared with an index that has the elements as documents. */
import type { Document } from '../../support/engine.js'
import type { TestedEngine } from '../../support/engines.js'
import { claimsOf } from './claims.js'

const shoes: readonly Document[] = [
  {
    id: 1,
    variants: [
      { color: 'red', size: 42 },
      { color: 'blue', size: 43 },
    ],
  },
  {
    id: 2,
    variants: [
      { color: 'red', size: 43 },
      { color: 'blue', size: 42 },
    ],
  },
  { id: 3, variants: { color: 'Red', size: 42, stock: null } },
  { id: 4, variants: [[{ color: 'red' }], [{ size: 42 }]] },
  { id: 5, variants: ['red', 42] },
  { id: 6, variants: [] },
  { id: 7, 'variants.color': 'red', variants: { size: 42 } },
  { id: 8, shelf: { variants: [{ color: 'red', size: 42 }] } },
  {
    id: 9,
    variants: [
      { color: 'green', makers: [{ name: 'a', year: 1 }] },
      {
        color: 'black',
        makers: [
          { name: 'b', year: 2 },
          { name: 'a', year: 3 },
        ],
      },
    ],
  },
]

/** Filter, and ids of the matching documents. */
const cases: readonly (readonly [filter: string | readonly (string | string[])[], ids: readonly number[]])[] =
  [
    ['variants.color = red AND variants.size = 42', [1, 2, 3, 4, 7]],
    ['_element(variants, color = red AND size = 42)', [1, 3]],
    ['_element(variants, color = red) AND _element(variants, size = 42)', [1, 2, 3, 4]],
    ['_element(variants, color = red AND NOT size = 42)', [2, 4]],
    ['_element(variants, color = red AND size != 42)', [2, 4]],
    ['NOT _element(variants, color = red AND size = 42)', [2, 4, 5, 6, 7, 8, 9]],
    ['_element(variants, size > 42 OR stock IS NULL)', [1, 2, 3]],
    ['_element(variants, color EXISTS AND size NOT EXISTS)', [4, 9]],
    ['_element(variants, NOT color = red)', [1, 2, 4, 7, 9]],
    ['_element("shelf.variants", color = red AND size 40 TO 42)', [8]],
    ['_element(shelf, variants.color = red AND variants.size IN [42])', [8]],
    ['_element(variants, color = black AND _element(makers, name = a AND year = 1))', []],
    ['_element(variants, color = green AND _element(makers, name = a AND year = 1))', [9]],
    ['_element(variants.makers, name = b AND year = 2)', [9]],
    ['_element(variants, nothing = 1)', []],
    ['_element(variants, nothing != 1)', []],
    ['_element(variants, NOT nothing = 1)', [1, 2, 3, 4, 7, 9]],
    [['_element(variants, color = red AND size = 42)', ['id = 1', 'id = 2']], [1]],
    ['_element ( variants ,\n color = red AND size = 42 )', [1, 3]],
    ['_element = 1', []],
  ]

/** Filter, and error code. */
const mistakes: readonly (readonly [filter: string, code: string])[] = [
  ['_element(variants)', 'invalid_search_filter'],
  ['_element(variants, )', 'invalid_search_filter'],
  ['_element(variants, color)', 'invalid_search_filter'],
  ['_element(variants, color = red', 'invalid_search_filter'],
  ['_element(variants, _geoRadius(1, 2, 3))', 'invalid_search_filter'],
  ['_element(variants, _vectors EXISTS)', 'invalid_search_filter'],
  ['_element(variants, _foreign(color, id = 1))', 'invalid_search_filter'],
  ['_element(variants, color CONTAINS e)', 'feature_not_enabled'],
  ['_element(hidden, color = red)', 'invalid_search_filter'],
  ['_element(id, color = red)', 'invalid_search_filter'],
  [`${'_element(variants, '.repeat(37)}color = red${')'.repeat(37)}`, 'invalid_search_filter'],
]

const colors = ['red', 'Blue', '', null, ' red ', ['red', 'green'], { shade: 'dark' }, true] as const
const sizes = [41, 42, 43.5, '42', null, [41, 43], 'large'] as const

/** Generates reproducible numbers below `bound`. */
function random(seed: number): (bound: number) => number {
  let state = seed
  return (bound) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * bound)
  }
}

function element(below: (bound: number) => number): Document {
  const made: Record<string, unknown> = {}
  if (below(5) > 0) made.color = colors[below(colors.length)]
  if (below(5) > 0) made.size = sizes[below(sizes.length)]
  return made
}

function condition(below: (bound: number) => number, depth: number): string {
  if (depth > 0 && below(2) === 0) {
    const parts = [condition(below, depth - 1), condition(below, depth - 1)]
    const text = `(${parts.join(below(2) === 0 ? ' AND ' : ' OR ')})`
    return below(3) === 0 ? `NOT ${text}` : text
  }
  const values = ['red', 'blue', '42', '43.5', '" Red"', 'true', 'large']
  const value = values[below(values.length)]
  const operators = ['=', '!=', '<', '<=', '>', '>=']
  const forms = [
    `${operators[below(operators.length)]} ${value}`,
    `${operators[below(operators.length)]} ${value}`,
    `IN [${value}, ${values[below(values.length)]}]`,
    `41 TO ${value}`,
    'EXISTS',
    'IS NULL',
    'IS EMPTY',
    'NOT EXISTS',
    `CONTAINS ${value}`,
    `STARTS WITH ${value}`,
  ]
  const field = ['color', 'size', 'color.shade', 'absent'][below(4)]
  return `${field} ${forms[below(forms.length)]}`
}

const features = { containsFilter: true, legacySearch: false, multimodal: false, foreignKeys: false }

export function elements(tested: TestedEngine): void {
  const claim = claimsOf(tested)

  claim('an element filter matches documents with a matching element', async (t, engine) => {
    await engine.configure('things', {
      filterableAttributes: ['id', '_element', 'variants', 'shelf'],
    })
    await engine.put('things', ...shoes)
    for (const [filter, ids] of cases) {
      const { hits } = await engine.search('things', { filter })
      t.deepEqual(
        hits.map(({ id }) => id),
        ids,
        JSON.stringify(filter),
      )
    }
  })

  claim('an invalid element filter is refused with its code', async (t, engine) => {
    await engine.configure('things', { filterableAttributes: ['variants'] })
    await engine.put('things', ...shoes)
    for (const [filter, code] of mistakes) {
      const error = await t.throwsAsync(engine.search('things', { filter }), undefined, filter)
      t.is((error as { code?: string }).code, code, filter)
    }
  })

  claim('elements match like documents with one element each', async (t, engine) => {
    const below = random(20_261_124)
    const owners: (readonly Document[])[] = Array.from({ length: 60 }, () =>
      Array.from({ length: below(4) }, () => element(below)),
    )
    const settings = { filterableAttributes: ['id', 'variants'] }
    await engine.configure('things', settings)
    await engine.configure('elements', settings)
    await engine.put('things', ...owners.map((variants, id) => ({ id, variants })))
    const single = owners.flatMap((variants, owner) =>
      variants.map((variant, at) => ({ id: `${owner}-${at}`, variants: variant })),
    )
    await engine.put('elements', ...single)
    for (let round = 0; round < 300; round++) {
      const inner = condition(below, 2)
      const prefixed = inner.replaceAll(/\b(color|size|absent)\b/g, 'variants.$1')
      const found = await engine.search('things', {
        filter: `_element(variants, ${inner})`,
        limit: 100,
        features,
      })
      const expected = await engine.search('elements', { filter: prefixed, limit: 1000, features })
      const ids = new Set(expected.hits.map(({ id }) => Number(String(id).split('-')[0])))
      t.deepEqual(
        found.hits.map(({ id }) => id),
        [...ids].sort((a, b) => a - b),
        inner,
      )
    }
  })

  claim('elements are found in a field with a name that ends with a dot', async (t, engine) => {
    await engine.configure('things', { filterableAttributes: ['a.'] })
    await engine.put(
      'things',
      { id: 1, 'a.': [{ b: 1 }] },
      { id: 2, a: [{ b: 1 }] },
      { id: 3, 'a.': [{ b: 2 }] },
    )
    const { hits } = await engine.search('things', { filter: '_element("a.", NOT b = 2)' })
    t.deepEqual(
      hits.map(({ id }) => id),
      [1],
    )
  })

  claim('a filter that reads the elements of more than 100,000 documents is refused', async (t, engine) => {
    await engine.configure('things', { filterableAttributes: ['id', 'v'] })
    const lines = Array.from({ length: 100_001 }, (_, id) => `{"id":${id},"v":[{"a":${id % 2},"b":1}]}`)
    await engine.outcome('things', await engine.upload(`[${lines.join(',')}]`))
    const wide = '_element(v, b = 1)'
    const error = await t.throwsAsync(engine.search('things', { filter: wide }))
    t.is((error as { code?: string } | undefined)?.code, 'invalid_search_filter')
    const half = (value: number): string => `_element(v, b = 1 AND a = ${value})`
    for (const filter of [
      `${half(0)} OR ${half(1)}`,
      `NOT ${half(0)} AND NOT ${half(1)}`,
      [[half(0), half(1)]],
    ]) {
      const combined = await t.throwsAsync(
        engine.search('things', { filter }),
        undefined,
        JSON.stringify(filter),
      )
      t.is((combined as { code?: string } | undefined)?.code, 'invalid_search_filter')
    }
    for (const filter of [`id < 3 AND ${wide}`, ['id < 3', wide], '_element(v, b = 1 AND a = 0) AND id < 5'])
      t.is((await engine.search('things', { filter })).estimatedTotalHits, 3, JSON.stringify(filter))
  })

  claim('deleteByFilter with an element filter deletes documents of the same batch', async (t, engine) => {
    await engine.configure('things', { filterableAttributes: ['variants'] })
    const filter = '_element(variants, color = red AND size = 42)'
    const report = await engine.apply('things', await engine.upload(shoes), {
      kind: 'deleteByFilter',
      filter,
    })
    t.is(report.outcomes[1]?.deletedDocuments, 2)
    t.deepEqual(
      (await engine.documents('things')).results.map(({ id }) => id),
      [2, 4, 5, 6, 7, 8, 9],
    )
  })
}
