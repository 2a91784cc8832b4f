import test from 'ava'
import { QueryStatistics } from '../../ts/http/queries/query-statistics.js'

const search = (q: string, ms = 1, isEmpty = false) => ({ indexUid: 'boats', q, ms, isEmpty })
const all = () => true

test('a flood of unique queries displaces neither frequent, nor slow, nor empty ones', (t) => {
  const statistics = new QueryStatistics()
  for (const _ of [1, 2, 3]) statistics.add(search('frequent'))
  statistics.add(search('slow', 500))
  for (const _ of [1, 2]) statistics.add(search('nothing', 1, true))
  for (let n = 0; n < 20_000; n++) statistics.add(search(`once ${n}`, 1, n % 2 === 0))
  const { searches, mostFrequent, slowest, withoutHits } = statistics.report(all)
  t.is(searches, 20_006)
  t.like(mostFrequent[0], { q: 'frequent', count: 3 })
  t.like(slowest[0], { q: 'slow', maxMs: 500 })
  t.like(withoutHits[0], { q: 'nothing', countWithoutHits: 2 })
  for (const list of [mostFrequent, slowest, withoutHits]) t.is(list.length, 50)
})

test('memory stays bounded however many and long the queries are', (t) => {
  const statistics = new QueryStatistics()
  const text = 'x'.repeat(100_000)
  for (let n = 0; n < 3_000; n++) statistics.add(search(`${n} ${text}`))
  const shown = statistics.report(all).mostFrequent
  t.true(shown.every(({ q }) => q.length === 200))
})

test('a long query is never cut inside a character', (t) => {
  const statistics = new QueryStatistics()
  statistics.add(search(`a${'😀'.repeat(200)}`))
  t.is(statistics.report(all).mostFrequent[0]?.q, `a${'😀'.repeat(99)}`)
})
