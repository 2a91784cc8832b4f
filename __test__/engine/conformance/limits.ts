/** Every request is answered or refused with a code, however long or deeply nested it is. */
import type { TestedEngine } from '../../support/engines.js'
import { claimsOf } from './claims.js'

export function limits(tested: TestedEngine): void {
  const claim = claimsOf(tested)

  claim(
    'queries and filters of 200,000 characters are answered or refused with a code',
    async (t, engine) => {
      await engine.configure('things', { filterableAttributes: ['n'] })
      await engine.put(
        'things',
        ...Array.from({ length: 50 }, (_, id) => ({ id, n: id, t: 'the aa of e\u0301 中文' })),
      )
      const many = 200_000
      const texts = [
        'a',
        'a ',
        'a.',
        ' ',
        '"',
        '-',
        '中',
        'ร',
        'e\u0301',
        '\u0301',
        '👩‍👩‍👧',
        '\u0000',
        '" a',
        'A, ',
      ]
      for (const text of texts) {
        const q = text.repeat(many / text.length)
        const { hits } = await engine.search('things', {
          q,
          attributesToHighlight: ['*'],
          attributesToCrop: ['*'],
        })
        t.true(Array.isArray(hits), JSON.stringify(text))
      }
      const filters = [
        `${'('.repeat(many)}n = 1${')'.repeat(many)}`,
        `${'NOT '.repeat(many)}n = 1`,
        `n = "${'\\\\'.repeat(many)}`,
        `n = ${'='.repeat(many)}`,
      ]
      for (const filter of filters) {
        const error = await t.throwsAsync(engine.search('things', { filter }), undefined, filter.slice(0, 20))
        t.is((error as { code?: string }).code, 'invalid_search_filter')
      }
      const alternatives = Array.from({ length: 5000 }, (_, at) => `n = ${at % 60}`)
      t.is((await engine.search('things', { filter: alternatives.join(' OR ') })).estimatedTotalHits, 50)
      t.is((await engine.search('things', { filter: [alternatives] })).estimatedTotalHits, 50)
    },
  )

  claim('a text of 1.5 MB without spaces is indexed in any script', async (t, engine) => {
    const texts = ['ภาษาไทยสวยงาม', '안녕하세요세계', '東京都に住んでいる', 'ひらがな', 'カタカナ']
    const documents = texts.map((text, id) => ({
      id,
      first: text,
      long: text.repeat(Math.ceil(1_500_000 / Buffer.byteLength(text))),
    }))
    await engine.put('things', ...documents)
    for (const [id, q] of ['ภาษา', '안녕하세요세계', '東京都', 'ひら', 'カタカナ'].entries()) {
      const { hits } = await engine.search('things', { q, attributesToRetrieve: ['id'] })
      t.deepEqual(hits, [{ id }], q)
    }
  })

  claim('an invalid filter is refused without an index', async (t, engine) => {
    const features = { containsFilter: false, legacySearch: false, multimodal: false, foreignKeys: false }
    const check = (filter: string) =>
      engine.engine.checkFilter(Buffer.from(JSON.stringify({ filter, features })))
    await t.notThrowsAsync(check('a = 1 AND (b != 2)'))
    const error = await t.throwsAsync(check('a = 1 AND'))
    t.is((error as { code?: string } | undefined)?.code, 'invalid_search_filter')
  })
}
