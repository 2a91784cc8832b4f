/**
 * What every engine has to do, told through the `Engine` interface alone.
 *
 * Ranking, filters, facets and formatting are cases in `__test__/golden/*.json`; this file tells how
 * documents, settings and commits behave. Each engine's spec file calls `conformance`.
 */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import test, { type ExecutionContext } from 'ava'
import { encodeRequest } from '../../ts/engine/encoding.js'
import {
  completeRequest,
  type Document,
  type Hit,
  type OpenEngine,
  type PartialSettings,
  type SearchAnswer,
  type SearchBody,
  TestEngine,
} from '../support/engine.js'
import { progress } from './progress.js'

/** What a golden case expects; only what is given is compared. */
interface Expectation {
  readonly ids?: readonly unknown[]
  /** To six digits. */
  readonly scores?: readonly number[]
  readonly total?: number
  readonly pages?: number
  /** Score of the `wordPosition` entry. */
  readonly positions?: readonly number[]
  readonly details?: readonly unknown[]
  readonly distances?: readonly (number | null)[]
  /** JSON text, since order counts. */
  readonly facets?: string
  readonly stats?: unknown
  readonly formatted?: readonly unknown[]
  readonly matches?: readonly unknown[]
  readonly hits?: readonly unknown[]
  /** Code of the refusal. */
  readonly error?: string
}

interface GoldenCase {
  readonly name: string
  readonly request: SearchBody
  readonly expect: Expectation
}

/** Cases over one set of documents and settings. */
interface GoldenGroup {
  readonly name: string
  readonly settings?: PartialSettings
  readonly documents: readonly Document[]
  readonly cases: readonly GoldenCase[]
}

const GOLDEN_FILES = ['examples', 'tokens', 'derivations', 'rules', 'values', 'shapes', 'format'] as const
// Compiled tests lie in dist/, the cases beside the sources.
const goldenDirectory = join(dirname(fileURLToPath(import.meta.url)), '../../../__test__/golden')

const rounded = (score: unknown): number => Math.round(Number(score) * 1e6) / 1e6
const column = (hits: readonly Hit[], name: string): unknown[] => hits.map((hit) => hit[name] ?? null)

function compare(
  t: ExecutionContext,
  name: string,
  expect: Expectation,
  answer: SearchAnswer,
  text: string,
): void {
  const { hits } = answer
  if (expect.ids !== undefined) t.deepEqual(column(hits, 'id'), [...expect.ids], `${name}: ids`)
  if (expect.scores !== undefined)
    t.deepEqual(column(hits, '_rankingScore').map(rounded), [...expect.scores], `${name}: scores`)
  if (expect.total !== undefined)
    t.is(answer.estimatedTotalHits ?? answer.totalHits, expect.total, `${name}: total`)
  if (expect.pages !== undefined) t.is(answer.totalPages, expect.pages, `${name}: pages`)
  if (expect.positions !== undefined)
    t.deepEqual(
      hits.map((hit) => (hit._rankingScoreDetails as { wordPosition: { score: number } }).wordPosition.score),
      [...expect.positions],
      `${name}: positions`,
    )
  if (expect.details !== undefined)
    t.deepEqual(column(hits, '_rankingScoreDetails'), [...expect.details], `${name}: details`)
  if (expect.distances !== undefined)
    t.deepEqual(column(hits, '_geoDistance'), [...expect.distances], `${name}: distances`)
  if (expect.facets !== undefined)
    t.true(text.includes(`"facetDistribution":${expect.facets}`), `${name}: facets of ${text}`)
  if (expect.stats !== undefined) t.deepEqual(answer.facetStats, expect.stats as never, `${name}: stats`)
  if (expect.formatted !== undefined)
    t.deepEqual(column(hits, '_formatted'), [...expect.formatted], `${name}: formatted`)
  if (expect.matches !== undefined)
    t.deepEqual(column(hits, '_matchesPosition'), [...expect.matches], `${name}: matches`)
  if (expect.hits !== undefined) {
    const plain = hits.map(({ _formatted, ...hit }) => hit)
    t.deepEqual(plain, [...expect.hits] as Hit[], `${name}: hits`)
  }
}

async function runCase(
  t: ExecutionContext,
  engine: TestEngine,
  index: string,
  { name, request, expect }: GoldenCase,
): Promise<void> {
  const showRankingScore = expect.scores !== undefined
  if (expect.error !== undefined) {
    const error = await t.throwsAsync(engine.search(index, request), undefined, name)
    t.is((error as { code?: string } | undefined)?.code, expect.error, `${name}: code`)
    return
  }
  const text = await engine.searchText(index, { showRankingScore, ...request })
  compare(t, name, expect, JSON.parse(text) as SearchAnswer, text)
}

/** Parts an engine does not have yet. Their tests are expected to fail, and are noticed once they pass. */
export interface KnownToFail {
  /** Names of golden groups. */
  readonly groups?: readonly string[]
}

/**
 * Declares all tests of the suite for one engine. They run one after another: an engine has threads and
 * memory of its own, and a hundred at once would only get in each other's way.
 */
export function conformance(name: string, open: OpenEngine, knownToFail: KnownToFail = {}): void {
  golden(name, open, knownToFail.groups ?? [])
  documents(name, open)
  federation(name, open)
  commits(name, open)
  progress(name, open)
}

/** Golden cases share one engine, an index for each group. */
function golden(name: string, open: OpenEngine, knownToFail: readonly string[]): void {
  let opening: Promise<TestEngine> | null = null
  const shared = (): Promise<TestEngine> => {
    opening ??= TestEngine.open(open)
    return opening
  }
  test.after.always(async () => (await opening)?.stop())
  for (const file of GOLDEN_FILES) {
    const groups = JSON.parse(readFileSync(join(goldenDirectory, `${file}.json`), 'utf8')) as GoldenGroup[]
    for (const [at, group] of groups.entries()) {
      const declare = knownToFail.includes(group.name) ? test.serial.failing : test.serial
      declare(`${name}: ${file}: ${group.name}`, async (t) => {
        const engine = await shared()
        const index = `${file}-${at}`
        // A busy machine must not look like a wrong answer.
        await engine.configure(index, { searchCutoffMs: 600_000, ...group.settings })
        await engine.outcome(index, await engine.upload(group.documents, { primaryKey: 'id' }))
        for (const golden of group.cases) await runCase(t, engine, index, golden)
      })
    }
  }
}

function documents(name: string, open: OpenEngine): void {
  const withEngine = (claim: string, run: (t: ExecutionContext, engine: TestEngine) => Promise<void>): void =>
    test.serial(`${name}: ${claim}`, async (t) => run(t, await TestEngine.start(t, open)))

  withEngine('a deleted document leaves the next search', async (t, engine) => {
    await engine.put('films', { id: 1, title: 'Solaris' }, { id: 2, title: 'Stalker' })
    const { deletedDocuments } = await engine.outcome('films', {
      kind: 'deleteByIds',
      ids: ['1', '9', 'no id!'],
    })
    t.is(deletedDocuments, 1)
    t.deepEqual(await engine.idsFor('films', 'solaris'), [])
    t.deepEqual(await engine.idsFor('films', 's'), [2])
  })

  withEngine('documents come back as they were sent', async (t, engine) => {
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

  withEngine('a name with a dot is selected by that name alone', async (t, engine) => {
    await engine.put('things', { id: 1, 'a.b': 1 }, { id: 2, a: { b: 1, c: 2 } })
    t.is(await engine.documentText('things', '1', { fields: ['a'] }), '{}')
    t.is(await engine.documentText('things', '1', { fields: ['a.b'] }), '{"a.b":1}')
    t.is(await engine.documentText('things', '2', { fields: ['a'] }), '{"a":{"b":1,"c":2}}')
    t.is(await engine.documentText('things', '2', { fields: ['a.b'] }), '{"a":{"b":1}}')
  })

  withEngine('a repeated key keeps its last value', async (t, engine) => {
    await engine.apply('things', await engine.upload('[{"id":1,"a":1,"a":2}]'))
    t.is(await engine.documentText('things', '1'), '{"id":1,"a":2}')
  })

  withEngine('replacing swaps a document, updating merges its fields', async (t, engine) => {
    await engine.put('things', { id: 1, a: 1, o: { x: 1, y: 2 } })
    await engine.apply('things', await engine.upload([{ id: 1, b: null, o: { x: 5 } }], { method: 'update' }))
    t.is(await engine.documentText('things', '1'), '{"id":1,"a":1,"o":{"x":5},"b":null}')
    await engine.put('things', { id: '1', c: 3 })
    t.is(await engine.documentText('things', '1'), '{"id":"1","c":3}')
    t.is((await engine.engine.stats('things')).numberOfDocuments, 1)
  })

  withEngine('one payload may hold an id several times', async (t, engine) => {
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

  withEngine('skipCreation drops unknown documents and counts them', async (t, engine) => {
    await engine.put('things', { id: 1, n: 1 })
    const upload = await engine.upload([{ id: 1, n: 2 }, { id: 8 }], { skipCreation: true })
    t.is((await engine.outcome('things', upload)).indexedDocuments, 2)
    t.is(await engine.documentText('things', '8'), null)
    t.is(await engine.documentText('things', '1'), '{"id":1,"n":2}')
  })

  const keys: readonly (readonly [
    claim: string,
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
  for (const [claim, document, primaryKey, code] of keys)
    withEngine(`${claim}: ${code ?? 'accepted'}`, async (t, engine) => {
      const report = await engine.apply('things', await engine.upload([document], { primaryKey }))
      t.is(report.outcomes[0]?.error?.code ?? null, code as never)
      t.is(report.outcomes[0]?.indexedDocuments, code === null ? 1 : 0)
      t.is(report.documents, code === null ? 1 : 0)
      t.is(report.primaryKey === null, code !== null)
    })

  withEngine('a failing task leaves nothing, its neighbours go on', async (t, engine) => {
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

  withEngine('an empty payload records the primary key it names', async (t, engine) => {
    t.is((await engine.apply('things', await engine.upload([]))).primaryKey, null)
    t.is((await engine.apply('things', await engine.upload([], { primaryKey: 'sku' }))).primaryKey, 'sku')
  })

  withEngine('the primary key changes only without documents', async (t, engine) => {
    await engine.put('things', { id: 1 })
    const refused = await engine.outcome('things', { kind: 'primaryKey', primaryKey: 'code' })
    t.is(refused.error?.code, 'index_primary_key_already_exists')
    t.is((await engine.outcome('things', { kind: 'primaryKey', primaryKey: 'id' })).error, undefined)
    t.is((await engine.outcome('things', { kind: 'clear' })).deletedDocuments, 1)
    const report = await engine.apply('things', { kind: 'primaryKey', primaryKey: 'code' })
    t.is(report.primaryKey, 'code')
  })

  withEngine('listing follows arrival, filters, ids and sorting', async (t, engine) => {
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

  withEngine('deleting by filter counts what it removes', async (t, engine) => {
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

  withEngine(
    'the field distribution counts the documents that are left, wherever they lie',
    async (t, engine) => {
      const numbered = Array.from({ length: 60 }, (_, id) => ({
        id,
        ...(id % 3 === 0 && { third: id }),
        ...(id % 20 === 7 && { rare: 'x' }),
      }))
      await engine.put('things', ...numbered)
      await engine.put('things', { id: 100, third: null })
      const gone = [0, 1, 3, 27, 30, 59]
      await engine.outcome('things', { kind: 'deleteByIds', ids: gone.map(String) })
      await engine.put('things', { id: 6, rare: 'y' })
      // 20 of 60 and one more had it; four of those are gone, and one has lost it.
      const expected = { id: 55, third: 16, rare: 3 }
      t.deepEqual((await engine.engine.stats('things')).fieldDistribution, expected)
    },
  )

  withEngine('stats and field names follow the documents', async (t, engine) => {
    await engine.put('things', { id: 1, t: 'a', m: { x: 1 } }, { id: 2, t: null, _vectors: {} })
    const { numberOfDocuments, fieldDistribution } = await engine.engine.stats('things')
    t.is(numberOfDocuments, 2)
    t.deepEqual(fieldDistribution, { id: 2, m: 1, t: 2 })
    t.true(['id', 'm', 'm.x', 't'].every((field, at, all) => all.indexOf(field) === at))
    const fields = await engine.engine.fields('things')
    t.deepEqual(
      fields.filter((field) => !field.startsWith('_vectors')),
      ['id', 'm', 'm.x', 't'],
    )
    await engine.outcome('things', { kind: 'deleteByIds', ids: ['1'] })
    t.deepEqual((await engine.engine.stats('things')).fieldDistribution, { id: 1, t: 1 })
  })

  withEngine('free docids are given out lowest first', async (t, engine) => {
    await engine.put('things', { id: 1 }, { id: 2 }, { id: 3 })
    await engine.outcome('things', { kind: 'deleteByIds', ids: ['1', '2'] })
    await engine.put('things', { id: 8 }, { id: 9 }, { id: 10 })
    const { results } = await engine.documents('things')
    t.deepEqual(
      results.map(({ id }) => id),
      [8, 9, 3, 10],
    )
  })

  withEngine('settings change what was indexed before', async (t, engine) => {
    await engine.put('things', { id: 1, t: 'sea~salt', n: 3, u: 'pepper' })
    t.deepEqual(await engine.idsFor('things', 'salt '), [])
    await engine.configure('things', { separatorTokens: ['~'], filterableAttributes: ['n'] })
    t.deepEqual(await engine.idsFor('things', 'salt '), [1])
    t.is((await engine.search('things', { filter: 'n = 3' })).estimatedTotalHits, 1)
    await engine.configure('things', { searchableAttributes: ['t'] })
    t.deepEqual(await engine.idsFor('things', 'pepper'), [])
  })

  withEngine('a malformed point fails the task once points are used', async (t, engine) => {
    await engine.put('places', { id: 1, _geo: 'anywhere' })
    const late = await engine.configure('places', { sortableAttributes: ['_geo'] })
    t.is(late.error?.code, 'invalid_document_geo_field')
    await engine.outcome('places', { kind: 'clear' })
    await engine.configure('places', { sortableAttributes: ['_geo'] })
    for (const [point, accepted] of [
      [{ lat: '48.5', lng: 2 }, true],
      [null, true],
      [{ lat: 1 }, false],
      [{ lat: 1, lng: 2, alt: 3 }, false],
      [{ lat: 'x', lng: 2 }, false],
    ] as const) {
      const { error } = await engine.put('places', { id: 1, _geo: point })
      t.is(error?.code ?? null, accepted ? null : 'invalid_document_geo_field', JSON.stringify(point))
    }
  })

  const bodies: readonly (readonly [
    claim: string,
    format: 'json' | 'ndjson' | 'csv',
    body: string,
    documents: number,
    error: RegExp | null,
  ])[] = [
    ['an array', 'json', '[{"id":1},\n {"id":2}]', 2, null],
    ['one object', 'json', ' {"id":1} ', 1, null],
    ['an empty array', 'json', '[]', 0, null],
    ['nothing', 'json', '', 0, /json/],
    ['a cut array', 'json', '[{"id":1},', 1, /json.*line 1/],
    ['a scalar', 'json', '"hello"', 0, /json.*line 1 column 1/],
    ['an array of numbers', 'json', '[1,2]', 0, /json/],
    ['a fault in the second line', 'json', '[{"id":1},\n {"id":}]', 1, /json.*line 2 column 8/],
    ['lines, some blank', 'ndjson', '{"id":1}\n\n{"id":2}\n', 2, null],
    ['only blanks', 'ndjson', ' \n', 0, null],
    ['a cut line', 'ndjson', '{"id":1}\n{"id":', 1, /ndjson.*line 2/],
    ['an array as line', 'ndjson', '[1]', 0, /ndjson/],
    ['rows', 'csv', 'id:number,t\n1,"a, b"\n2,\n', 2, null],
    ['a header alone', 'csv', 'id,t', 0, null],
    ['a row too long', 'csv', 'id,t\n1,a,b', 0, /csv.*line 2/],
    ['a cell of another type', 'csv', 'id,n:number\n1,two', 0, /csv.*two.*line 1/],
    ['a truth value in capitals', 'csv', 'id,b:boolean\n1,True', 0, /csv.*True/],
  ]
  for (const [claim, format, body, count, error] of bodies)
    withEngine(
      `inspecting ${format}, ${claim}: ${error === null ? 'accepted' : 'refused'}`,
      async (t, engine) => {
        const report = await engine.engine.inspect(await engine.spool(body, format))
        t.is(report.documents, count)
        if (error === null) t.is(report.error, undefined)
        else {
          t.is(report.error?.code, body === '' ? 'missing_payload' : 'malformed_payload')
          t.regex(report.error?.message ?? '', error)
        }
      },
    )

  withEngine('typed columns become typed values', async (t, engine) => {
    const body = 'id:number,title,price:number,live:boolean,when:utc\n1,"Fern, tall",3.5,true,now\n2,,,,'
    await engine.apply('things', {
      kind: 'documents',
      method: 'replace',
      primaryKey: null,
      skipCreation: false,
      payload: await engine.spool(body, 'csv'),
    })
    t.is(
      await engine.documentText('things', '1'),
      '{"id":1,"title":"Fern, tall","price":3.5,"live":true,"when:utc":"now"}',
    )
    t.is(
      await engine.documentText('things', '2'),
      '{"id":2,"title":null,"price":null,"live":null,"when:utc":null}',
    )
  })

  withEngine('whatever is asked is answered or refused by a code', async (t, engine) => {
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
  })

  withEngine('a malformed shape fails its task once shapes are filterable', async (t, engine) => {
    for (const shape of MALFORMED_SHAPES) await engine.put('things', { id: 1, _geojson: shape })
    await engine.put('things', { id: 1, _geojson: { type: 'Blob' } })
    const turned = await engine.configure('things', { filterableAttributes: ['_geojson'] })
    t.is(turned.error?.code, 'invalid_document_geo_field')
    t.deepEqual((await engine.engine.settings('things')).filterableAttributes, [])
    await engine.put('things', { id: 1, _geojson: { type: 'Point', coordinates: [1, 2] } })
    t.is((await engine.configure('things', { filterableAttributes: ['_geojson'] })).error, undefined)
    for (const shape of MALFORMED_SHAPES) {
      const { error } = await engine.put('things', { id: 2, _geojson: shape })
      t.is(error?.code, 'invalid_document_geo_field', JSON.stringify(shape))
    }
    t.deepEqual((await engine.search('things', { q: '' })).hits.length, 1)
  })
}

/** Values of `_geojson` that no place can be read from. */
const MALFORMED_SHAPES: readonly unknown[] = [
  null,
  'Point',
  {},
  { type: 'Blob', coordinates: [1, 2] },
  { type: 'Point' },
  { type: 'Point', coordinates: [1] },
  { type: 'Point', coordinates: ['1', '2'] },
  { type: 'LineString', coordinates: [[1, 2]] },
  { type: 'Polygon', coordinates: [] },
  {
    type: 'Polygon',
    coordinates: [
      [
        [0, 0],
        [1, 1],
        [0, 0],
      ],
    ],
  },
  {
    type: 'Polygon',
    coordinates: [
      [
        [0, 0],
        [1, 1],
        [1, 0],
        [2, 2],
      ],
    ],
  },
  { type: 'Feature' },
  { type: 'FeatureCollection', features: { type: 'Feature' } },
  { type: 'GeometryCollection', geometries: [{ type: 'Point', coordinates: {} }] },
]

function federation(name: string, open: OpenEngine): void {
  const request = (q: string, rest: SearchBody = {}): Uint8Array =>
    encodeRequest(completeRequest({ q, ...rest }))
  const start = async (t: ExecutionContext): Promise<TestEngine> => {
    const engine = await TestEngine.start(t, open)
    for (const index of ['left', 'right'])
      await engine.configure(index, { filterableAttributes: ['kind'], sortableAttributes: ['n'] })
    await engine.put(
      'left',
      { id: 1, t: 'copper kettle', n: 1, kind: 'a' },
      { id: 2, t: 'copper', n: 4, kind: 'b' },
    )
    await engine.put('right', { id: 1, t: 'old copper pot', n: 3, kind: 'a' }, { id: 5, t: 'tin', n: 2 })
    return engine
  }
  const federated = async (
    engine: TestEngine,
    queries: readonly (readonly [index: string, request: Uint8Array, weight: number])[],
    rest: object = {},
  ): Promise<SearchAnswer & Readonly<Record<string, unknown>>> => {
    const { body } = await engine.engine.multiSearch(
      queries.map(([index, bytes]) => ({ index, request: bytes })),
      Buffer.from(
        JSON.stringify({
          paging: { kind: 'offset', offset: 0, limit: 20 },
          facetsByIndex: {},
          mergeFacets: null,
          distinct: null,
          showPerformanceDetails: false,
          requestUid: '01900000-0000-7000-8000-000000000000',
          metadata: null,
          weights: queries.map(([, , weight]) => weight),
          positions: queries.map((_, at) => at),
          origin: null,
          showScoreValues: false,
          ...rest,
        }),
      ),
    )
    return JSON.parse(Buffer.from(body).toString()) as SearchAnswer & Readonly<Record<string, unknown>>
  }
  const places = (answer: SearchAnswer): unknown[] =>
    answer.hits.map(({ id, _federation }) => {
      const { indexUid, queriesPosition } = _federation as { indexUid: string; queriesPosition: number }
      return [indexUid, id, queriesPosition]
    })
  const left = (q: string, rest: SearchBody = {}) =>
    ['left', request(q, { indexUid: 'left', ...rest }), 1] as const
  const right = (q: string, rest: SearchBody = {}) =>
    ['right', request(q, { indexUid: 'right', ...rest }), 1] as const

  test.serial(`${name}: plain multi-search answers each query by itself`, async (t) => {
    const engine = await start(t)
    const { body, facts } = await engine.engine.multiSearch(
      [
        { index: 'left', request: request('kettle', { indexUid: 'left' }) },
        { index: 'right', request: request('tin', { indexUid: 'right' }) },
      ],
      null,
    )
    const { results } = JSON.parse(Buffer.from(body).toString()) as {
      results: (SearchAnswer & { indexUid: string })[]
    }
    t.deepEqual(
      results.map(({ indexUid, hits }) => [indexUid, hits.map(({ id }) => id)]),
      [
        ['left', [1]],
        ['right', [5]],
      ],
    )
    t.is(facts.hits, 2)
  })

  test.serial(`${name}: a search that nobody waits for gives up`, async (t) => {
    const engine = await start(t)
    const gone = AbortSignal.abort()
    const { facts } = await engine.engine.search('left', request('copper'), gone)
    t.true(facts.degraded)
    const left = { index: 'left', request: request('copper', { indexUid: 'left' }) }
    t.true((await engine.engine.multiSearch([left], null, gone)).facts.degraded)
    t.false((await engine.engine.search('left', request('copper'))).facts.degraded)
  })

  test.serial(`${name}: a failing query of a multi-search is named by its position`, async (t) => {
    const engine = await start(t)
    const queries = [
      { index: 'left', request: request('kettle') },
      { index: 'right', request: request('tin', { filter: 'color = 1' }) },
    ]
    const error = await t.throwsAsync(engine.engine.multiSearch(queries, null), { message: /\.queries\[1\]/ })
    t.is((error as { code?: string } | undefined)?.code, 'invalid_search_filter')
  })

  test.serial(`${name}: federated hits are merged by score, ties by query`, async (t) => {
    const engine = await start(t)
    const answer = await federated(engine, [right('copper'), left('copper')])
    t.deepEqual(places(answer), [
      ['left', 2, 1],
      ['left', 1, 1],
      ['right', 1, 0],
    ])
    t.is(answer.estimatedTotalHits, 3)
  })

  test.serial(
    `${name}: hits for another instance say where they are from and what they are compared by`,
    async (t) => {
      const engine = await start(t)
      const rest = { positions: [7], origin: { remote: 'east' }, showScoreValues: true, distinct: 'kind' }
      const [hit] = (
        await federated(engine, [left('copper', { sort: ['n:desc'], showRankingScore: true })], rest)
      ).hits
      const { weightedScoreValues, ...place } = hit!._federation as Record<string, unknown>
      t.deepEqual(place, {
        indexUid: 'left',
        queriesPosition: 7,
        weightedRankingScore: hit!._rankingScore,
        remote: 'east',
        distinctValues: ['b'],
      })
      const [relevance, sorted] = weightedScoreValues as [{ score: number }, object]
      t.is(typeof relevance.score, 'number')
      t.deepEqual(sorted, { sort: { ascending: false, value: 4 } })
    },
  )

  test.serial(`${name}: a weight lifts the hits of its query`, async (t) => {
    const engine = await start(t)
    const [index, bytes] = right('copper')
    const answer = await federated(engine, [left('copper'), [index, bytes, 5]])
    t.deepEqual(places(answer)[0], ['right', 1, 1])
  })

  test.serial(`${name}: a document found twice appears once`, async (t) => {
    const engine = await start(t)
    const answer = await federated(engine, [left('copper'), left('copper kettle')])
    t.deepEqual(places(answer), [
      ['left', 2, 0],
      ['left', 1, 1],
    ])
    t.is(answer.estimatedTotalHits, 2)
  })

  test.serial(`${name}: queries whose orders cannot be compared are refused`, async (t) => {
    const engine = await start(t)
    const rules = ['words', 'n:desc', 'sort']
    await engine.configure('right', { rankingRules: rules, sortableAttributes: ['n'] })
    const byN = (direction: string) => ({ sort: [`n:${direction}`] })
    for (const [queries, isFine] of [
      [[left('copper', byN('asc')), left('kettle', byN('asc'))], true],
      [[left('copper', byN('asc')), left('kettle')], true],
      [[left('copper', byN('asc')), left('kettle', byN('desc'))], false],
      [[left('copper'), left('copper', byN('asc')), left('kettle', byN('desc'))], false],
      [[left('copper', byN('desc')), right('copper')], true],
      [[left('copper', byN('asc')), right('copper')], false],
    ] as const) {
      if (isFine) await t.notThrowsAsync(federated(engine, queries))
      else {
        const error = await t.throwsAsync(federated(engine, queries))
        t.is((error as { code?: string } | undefined)?.code, 'invalid_multi_search_query_ranking_rules')
      }
    }
  })

  test.serial(`${name}: sorted queries are merged by their values`, async (t) => {
    const engine = await start(t)
    const sort = { sort: ['n:desc'] }
    const answer = await federated(engine, [left('', sort), right('', sort)])
    t.deepEqual(
      answer.hits.map(({ n }) => n),
      [4, 3, 2, 1],
    )
    const error = await t.throwsAsync(federated(engine, [left('', sort), right('', { sort: ['n:asc'] })]))
    t.is((error as { code?: string } | undefined)?.code, 'invalid_multi_search_query_ranking_rules')
  })

  test.serial(`${name}: facets of a federation stand by index or merged`, async (t) => {
    const engine = await start(t)
    const facetsByIndex = { left: ['kind'], right: ['kind'] }
    const apart = await federated(engine, [left(''), right('')], { facetsByIndex })
    t.deepEqual(apart.facetsByIndex, {
      left: { distribution: { kind: { a: 1, b: 1 } }, stats: {} },
      right: { distribution: { kind: { a: 1 } }, stats: {} },
    })
    const mergeFacets = { maxValuesPerFacet: 1 }
    const together = await federated(engine, [left(''), right('')], { facetsByIndex, mergeFacets })
    t.deepEqual(together.facetDistribution, { kind: { a: 2 } })
  })

  test.serial(`${name}: distinct acts over all indexes of a federation`, async (t) => {
    const engine = await start(t)
    const answer = await federated(engine, [left('copper'), right('copper')], { distinct: 'kind' })
    t.deepEqual(places(answer), [
      ['left', 2, 0],
      ['left', 1, 0],
    ])
    t.is(answer.estimatedTotalHits, 2)
  })

  test.serial(`${name}: facet search finds values by their beginning and with typos`, async (t) => {
    const engine = await TestEngine.start(t, open)
    await engine.configure('things', { filterableAttributes: ['c'] })
    await engine.put(
      'things',
      { id: 1, c: 'Rust' },
      { id: 2, c: ['rust', 'TEAL'] },
      { id: 3, c: 7 },
      { id: 4, c: '7' },
      { id: 5, c: 'Photography' },
    )
    const facets = async (facetQuery: string | null, rest: object = {}): Promise<unknown> => {
      const body = {
        ...completeRequest({}),
        facetName: 'c',
        facetQuery,
        exhaustiveFacetCount: false,
        ...rest,
      }
      const answer = await engine.engine.facetSearch('things', Buffer.from(JSON.stringify(body)))
      const { facetHits } = JSON.parse(Buffer.from(answer.body).toString()) as { facetHits: Hit[] }
      return facetHits.map(({ value, count }) => `${value} ${count}`)
    }
    t.deepEqual(await facets('ru'), ['Rust 2'])
    t.deepEqual(await facets('téa'), ['TEAL 1'])
    t.deepEqual(await facets('7'), ['7 1'])
    t.deepEqual(await facets('photografy'), ['Photography 1'])
    t.deepEqual(await facets('hotography'), ['Photography 1'])
    t.deepEqual(await facets('graphy'), [])
    t.deepEqual(await facets(null), ['7 1', 'Photography 1', 'Rust 2', 'TEAL 1'])
    t.deepEqual(await facets(null, { filter: 'c = teal' }), ['rust 1', 'TEAL 1'])
    t.deepEqual(await facets('ru ', { pins: [] }), [], 'a blank counts')
    const error = await t.throwsAsync(facets('x', { facetName: 'id' }))
    t.is((error as { code?: string } | undefined)?.code, 'invalid_facet_search_facet_name')
  })

  test.serial(`${name}: facet search counts as a search does`, async (t) => {
    const engine = await TestEngine.start(t, open)
    await engine.configure('things', { filterableAttributes: ['c', 'k'], distinctAttribute: 'k' })
    // 30 documents, 15 values of `k`, two neighbours each: 20 documents are ranked, ten pairs.
    const documents = Array.from({ length: 30 }, (_, at) => ({ id: at, c: 'x', k: Math.floor(at / 2) }))
    await engine.put('things', ...documents, { id: 99, c: 'pinned' })
    const count = async (rest: object): Promise<unknown> => {
      const body = { ...completeRequest({}), facetName: 'c', facetQuery: null, ...rest }
      const answer = await engine.engine.facetSearch('things', Buffer.from(JSON.stringify(body)))
      const { facetHits } = JSON.parse(Buffer.from(answer.body).toString()) as { facetHits: Hit[] }
      return facetHits.map(({ value, count }) => `${value} ${count}`)
    }
    t.deepEqual(await count({ q: 'x', exhaustiveFacetCount: true }), ['x 15'])
    t.deepEqual(await count({ q: 'x', exhaustiveFacetCount: false }), ['x 15'])
    const pins = [{ id: '99', position: 0 }]
    t.deepEqual(await count({ q: 'x', exhaustiveFacetCount: true, pins }), ['pinned 1', 'x 15'])
    t.deepEqual(await count({ q: 'x', exhaustiveFacetCount: true, pins, filter: 'c = x' }), ['x 15'])
    await engine.put('things', ...Array.from({ length: 60 }, (_, at) => ({ id: at, c: 'x', k: at >> 1 })))
    const filter = 'c = x'
    t.deepEqual(await count({ filter, exhaustiveFacetCount: false }), ['x 40'], '20 of 30 pairs are known')
    t.deepEqual(await count({ filter, exhaustiveFacetCount: true }), ['x 30'])
  })

  test.serial(`${name}: a facet query is in its own languages, values are in theirs`, async (t) => {
    const engine = await TestEngine.start(t, open)
    await engine.configure('things', {
      filterableAttributes: ['c'],
      localizedAttributes: [{ attributePatterns: ['c'], locales: ['jpn'] }],
    })
    await engine.put('things', { id: 1, c: '进击的巨人' })
    const values = async (locales: readonly string[] | null): Promise<unknown> => {
      const rest = { facetName: 'c', facetQuery: '进击', exhaustiveFacetCount: false, locales }
      const body = Buffer.from(JSON.stringify({ ...completeRequest({}), ...rest }))
      const answer = Buffer.from((await engine.engine.facetSearch('things', body)).body)
      return (JSON.parse(answer.toString()) as { facetHits: unknown[] }).facetHits.length
    }
    t.is(await values(null), 1)
    t.is(await values(['jpn']), 1)
    t.is(await values(['cmn']), 0, 'as Chinese the query is spelled otherwise')
  })
}

function commits(name: string, open: OpenEngine): void {
  test.serial(`${name}: what was committed is there after a restart`, async (t) => {
    const engine = await TestEngine.start(t, open)
    await engine.configure('things', { sortableAttributes: ['n'] })
    await engine.put('things', { id: 1, t: 'old', n: 2 }, { id: 2, t: 'gone', n: 1 })
    const report = await engine.apply('things', { kind: 'deleteByIds', ids: ['2'] })
    await engine.reopen()
    t.deepEqual(await engine.engine.lastCommit('things'), report)
    t.deepEqual([...(await engine.engine.settings('things')).sortableAttributes], ['n'])
    t.deepEqual(await engine.idsFor('things', 'old'), [1])
    t.deepEqual(await engine.idsFor('things', 'gone'), [])
    t.deepEqual([...(await engine.engine.list())], ['things'])
    t.deepEqual([...(await engine.engine.verify('things'))], [])
  })

  test.serial(`${name}: an abandoned batch leaves no trace`, async (t) => {
    const engine = await TestEngine.start(t, open)
    await engine.put('things', { id: 1, t: 'old' })
    const upload = await engine.upload([{ id: 1, t: 'new' }])
    const operations = [{ taskUid: 900, ...upload }] as never
    const prepared = await engine.engine.prepare('things', { uid: 90, indexUid: 'things', operations })
    t.deepEqual(await engine.idsFor('things', 'new'), [])
    await engine.engine.abandon(prepared)
    t.deepEqual(await engine.idsFor('things', 'new'), [])
    await engine.reopen()
    t.deepEqual(await engine.idsFor('things', 'old'), [1])
  })

  test.serial(`${name}: a batch that comes again answers its report and is not applied twice`, async (t) => {
    const engine = await TestEngine.start(t, open)
    await engine.put('things', { id: 1, n: 1 })
    const upload = await engine.upload([{ id: 1, n: 2 }])
    const batch = { uid: 90, indexUid: 'things', operations: [{ taskUid: 900, ...upload }] as never }
    const first = await engine.engine.commit(await engine.engine.prepare('things', batch), [])
    await engine.reopen()
    const other = await engine.upload([{ id: 1, n: 3 }])
    const again = { ...batch, operations: [{ taskUid: 900, ...other }] as never }
    const second = await engine.engine.commit(await engine.engine.prepare('things', again), [])
    t.deepEqual(second, first)
    t.is(await engine.documentText('things', '1'), '{"id":1,"n":2}')
  })

  test.serial(`${name}: a snapshot holds the newest commit`, async (t) => {
    const engine = await TestEngine.start(t, open)
    await engine.put('things', { id: 1, t: 'kept' })
    await engine.engine.snapshot('things', `${engine.directory}/indexes/copy`)
    await engine.put('things', { id: 2, t: 'later' })
    await engine.reopen()
    t.deepEqual(await engine.idsFor('copy', 'kept'), [1])
    t.is((await engine.engine.stats('copy')).numberOfDocuments, 1)
  })

  test.serial(`${name}: a dropped index is gone, and may be dropped again`, async (t) => {
    const engine = await TestEngine.start(t, open)
    await engine.put('things', { id: 1 })
    await engine.engine.drop('things')
    await engine.engine.drop('things')
    t.deepEqual([...(await engine.engine.list())], [])
    t.is(await engine.engine.lastCommit('things'), null)
  })

  test.serial(`${name}: filters are checked without an index`, async (t) => {
    const engine = await TestEngine.start(t, open)
    const features = { containsFilter: false, legacySearch: false, multimodal: false, foreignKeys: false }
    const check = (filter: string) =>
      engine.engine.checkFilter(Buffer.from(JSON.stringify({ filter, features })))
    await t.notThrowsAsync(check('a = 1 AND (b != 2)'))
    const error = await t.throwsAsync(check('a = 1 AND'))
    t.is((error as { code?: string } | undefined)?.code, 'invalid_search_filter')
  })
}
