import test from 'ava'
import { batchesOf, openReporter } from '../../ts/reports/index.js'
import { openLogWithOutlets, openUsage } from '../../ts/telemetry/index.js'
import { startCollector } from '../support/collector.js'
import { instanceUid, reportedServer } from './world.js'

// Case 45 of the operating rules.
test('three searches are one event with their number and the clients that were named', async (t) => {
  const collector = await startCollector(t)
  const { server, reporter } = await reportedServer(t, collector.url)
  await server.settle(t, server.post('/indexes', { uid: 'plants' }))
  const headers = { 'x-meilisearch-client': 'a ; b' }
  for (const q of ['x', 'y', 'z']) await server.post('/indexes/plants/search', { q }, { headers })
  await reporter.report()
  const searches = collector.events.filter(({ event }) => event === 'Documents Searched POST')
  t.is(searches.length, 1)
  t.like(searches[0]?.properties, {
    requests: { total_received: 3 },
    user_agent: ['a', 'b'],
    'user-agent': ['a', 'b'],
  })

  await reporter.report()
  t.deepEqual(
    collector.events.flatMap(({ event }) => event ?? []).sort(),
    ['Documents Searched POST', 'Index Created', 'Launched'],
    'what was reported is not reported again',
  )
  t.is(
    collector.events.filter(({ type }) => type === 'identify').length,
    2,
    'the state is part of each report',
  )
})

for (const { name, url } of [
  { name: 'cannot be reached', url: async () => 'http://127.0.0.1:9/' },
  {
    name: 'answers nothing',
    url: async (t: Parameters<typeof startCollector>[0]) => (await startCollector(t, 'never')).url,
  },
  {
    name: 'refuses',
    url: async (t: Parameters<typeof startCollector>[0]) => (await startCollector(t, 500)).url,
  },
]) {
  test(`a collector that ${name} changes no answer`, async (t) => {
    const { server, reporter } = await reportedServer(t, await url(t))
    await server.settle(t, server.post('/indexes', { uid: 'plants' }))
    const reporting = reporter.report()
    const answers = Array.from({ length: 20 }, () => server.post('/indexes/plants/search', { q: 'x' }))
    t.deepEqual([...new Set((await Promise.all(answers)).map(({ status }) => status))], [200])
    if (name !== 'answers nothing') await t.notThrowsAsync(reporting)
  })
}

test('a report of clients with long names is sent in batches of at most 500 kB', async (t) => {
  const usage = openUsage()
  const events = [
    'documentsAdded',
    'documentsUpdated',
    'documentsDeleted',
    'indexCreated',
    'tasksSeen',
    'statsSeen',
  ] as const
  for (const event of events) {
    for (let i = 0; i < 300; i++) usage.record(event, {}, `${i} ${'ü€'.repeat(500)}`)
  }
  t.true(usage.bytes() > 200_000)
  const batches: string[] = []
  const { log } = openLogWithOutlets({ level: 'OFF', mode: 'JSON' })
  const reporter = openReporter({
    sender: { instanceUid, version: '1.0.0' },
    usage,
    traits: async () => ({}),
    isFirstStart: false,
    deliver: async (batch) => void batches.push(batch),
    log,
  })
  await reporter.report()
  reporter.close()
  t.true(batches.length > 1)
  for (const batch of batches) t.true(Buffer.byteLength(batch) <= 500_000)
  const sent = batches.flatMap((batch) => (JSON.parse(batch) as { batch: readonly unknown[] }).batch)
  t.is(sent.length, 1 + events.length)
})

test('a batch has events and the time it was made, and is at most 500 kB to the byte', (t) => {
  const event = (bytes: number) => ({ type: 'track' as const, text: 'x'.repeat(bytes) })
  const [only] = batchesOf([event(10)], 0)
  t.deepEqual(JSON.parse(only ?? ''), { batch: [event(10)], sentAt: '1970-01-01T00:00:00.000Z' })
  t.deepEqual(batchesOf([], 0), [])
  for (let bytes = 249_900; bytes < 250_000; bytes += 1) {
    for (const batch of batchesOf([event(bytes), event(bytes)], 0)) t.true(batch.length <= 500_000)
  }
  t.deepEqual(batchesOf([event(500_000)], 0), [], 'an event that fits no batch is left out')
})
