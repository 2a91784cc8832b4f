import test from 'ava'
import { openUsage } from '../../ts/telemetry/index.js'

test('observations of a metric become the sum, maximum or share its name promises', (t) => {
  const usage = openUsage()
  const limits = [20, 100, 7]
  for (const limit of limits) {
    usage.record('search', {
      'pagination.max_limit': limit,
      'sort.avg_criteria_number': limit,
      'requests.total_received': 1,
      'filter.with_geoRadius': limit === 7,
      'filter.most_used_syntax': limit > 10 ? 'array' : 'string',
      locales: [String(limit), 'x'],
      'ranking_rules.values': String(limit),
      distinct: undefined,
    })
  }
  t.deepEqual(usage.report(), [
    {
      event: 'search',
      count: 3,
      figures: {
        'pagination.max_limit': 100,
        'sort.avg_criteria_number': 127 / 3,
        'requests.total_received': 3,
        'filter.with_geoRadius': true,
        'filter.most_used_syntax': 'array',
        locales: ['100', '20', '7', 'x'],
        'ranking_rules.values': '7',
      },
    },
  ])
  t.deepEqual(usage.report(), [], 'a report begins anew')
})

test('the time of searches is their 99th percentile, to 5 %', (t) => {
  const usage = openUsage()
  for (let i = 0; i < 99; i++) usage.record('search', { 'requests.99th_response_time': 10 + i * 10 })
  usage.record('search', { 'requests.99th_response_time': 60_000 })
  const figure = usage.report()[0]?.figures['requests.99th_response_time'] as number
  t.true(figure >= 990 && figure <= 990 * 1.05, String(figure))
})

test('of values that clients choose a hundred are remembered, 200 characters of each', (t) => {
  const usage = openUsage()
  for (let i = 0; i < 10_000; i++) usage.record('search', { user_agent: [`${i}${'x'.repeat(5_000)}`] })
  const words = usage.report()[0]?.figures.user_agent as readonly string[]
  t.is(words.length, 100)
  t.true(words.every((word) => word.length <= 200))
})
