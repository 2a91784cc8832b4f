import test from 'ava'
import { openUsage } from '../../ts/telemetry/index.js'

test('observations of a metric are combined as its name promises', (t) => {
  const usage = openUsage()
  const before = Date.now()
  usage.record('documentsFetched', { 'pagination.max_limit': 20, per_filter: false }, 'b; a')
  usage.record('documentsFetched', { 'pagination.max_limit': 100, per_filter: true, sort: undefined }, 'a')
  usage.record('documentsFetched', { 'pagination.max_limit': 7 }, undefined)
  usage.record('settingsUpdated', { 'ranking_rules.values': 'typo', locales: ['y', 'x'] }, 'c')
  usage.record('settingsUpdated', { 'ranking_rules.values': null, locales: ['x'] }, 'c')
  usage.record('exported', { 'export.avg_index_patterns': 1, 'export.total_received': 1 }, 'c')
  usage.record('exported', { 'export.avg_index_patterns': 2, 'export.total_received': 1 }, 'c')
  const [fetched, updated, exported] = usage.report()
  t.like(fetched, { name: 'Documents Fetched POST', count: 3 })
  t.true(fetched!.firstAt >= before && fetched!.firstAt <= Date.now())
  t.deepEqual(fetched!.figures, {
    user_agent: ['a', 'b', 'unknown'],
    per_document_id: false,
    per_filter: true,
    with_vector_filter: false,
    sort: false,
    'vector.retrieve_vectors': false,
    'pagination.max_limit': 100,
    'pagination.max_offset': 0,
  })
  t.like(updated!.figures, { 'ranking_rules.values': null, locales: ['x', 'y'], 'stop_words.total': null })
  t.like(exported!.figures, {
    'export.avg_index_patterns': 1.5,
    'export.avg_payload_size': null,
    'export.total_received': 2,
  })
  t.deepEqual(usage.report(), [], 'a report starts from zero')
})

test('searches are counted by their parameters and outcomes', (t) => {
  const usage = openUsage()
  const searches = usage.searches('search')
  const answer = { degraded: false, usedNegativeOperator: true, terms: 3 }
  searches.add({ filter: 'a = 1 AND b = 2 OR c = 3', sort: ['_geoPoint(1, 2):asc', 'x:asc'], limit: 3 }, 'x')
  searches.succeeded(answer, 8)
  searches.add(
    { filter: ['a = 1', ['_geoRadius(1, 2, 3)']], page: 2, facets: ['a', 'b'], locales: ['jpn'] },
    'x',
  )
  searches.succeeded({ ...answer, degraded: true, terms: 1 }, 3)
  searches.add({ page: 1, hybrid: { semanticRatio: 0.9 }, matchingStrategy: 'all', cropLength: 10 }, 'y')
  searches.failed()
  const [report] = usage.report()
  t.like(report, { name: 'Documents Searched POST', count: 3 })
  t.like(report!.figures, {
    user_agent: ['x', 'y'],
    'requests.total_received': 3,
    'requests.total_succeeded': 2,
    'requests.total_failed': 1,
    'requests.total_degraded': 1,
    'requests.total_used_negative_operator': 2,
    'requests.99th_response_time': '3',
    'filter.avg_criteria_number': '2.50',
    'filter.most_used_syntax': 'string',
    'filter.with_geoRadius': true,
    'filter.with_geoBoundingBox': false,
    'sort.avg_criteria_number': '2.00',
    'sort.with_geoPoint': true,
    'facets.avg_facets_number': '2.00',
    'q.max_terms_number': 3,
    'pagination.max_limit': 3,
    'pagination.most_used_navigation': 'exhaustive',
    'hybrid.semantic_ratio': true,
    'matching_strategy.most_used_strategy': 'all',
    'formatting.crop_length': true,
    'formatting.crop_marker': false,
    locales: ['jpn'],
  })
  t.false('facets.total_distinct_facet_count' in report!.figures, 'a figure of searches for facet values')
})

test('the time of searches is the 99th percentile, to 5 %', (t) => {
  const usage = openUsage()
  const answer = { degraded: false, usedNegativeOperator: false, terms: 1 }
  for (let i = 0; i < 99; i++) usage.searches('search').succeeded(answer, 10 + i * 10)
  usage.searches('search').succeeded(answer, 10_000_000)
  const figure = Number(usage.report()[0]?.figures['requests.99th_response_time'])
  t.true(figure >= 990 && figure <= 990 * 1.05, String(figure))
})

test('at most a hundred words chosen by clients are recorded, 200 characters of each', (t) => {
  const usage = openUsage()
  for (let i = 0; i < 10_000; i++) usage.record('documentsAdded', {}, `${i}${'x'.repeat(5_000)}`)
  const words = usage.report()[0]?.figures.user_agent as readonly string[]
  t.is(words.length, 100)
  t.true(words.every((word) => word.length <= 200))
})
