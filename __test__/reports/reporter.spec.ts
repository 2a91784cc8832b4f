import test, { type ExecutionContext } from 'ava'
import {
  batchesOf,
  type Deliver,
  deliverTo,
  openReporter,
  type ReportClock,
} from '../../ts/instance/index.js'
import { openLogWithOutlets, openUsage, type UsageEvent, usageEvents } from '../../ts/telemetry/index.js'
import { type CollectedEvent, startCollector } from '../support/collector.js'
import { instanceUid, reportedServer } from './world.js'

/** Delivers to a collector, like a daemon. */
function delivery(t: ExecutionContext, url: string): Deliver {
  const collector = deliverTo(url)
  t.teardown(() => collector.close())
  return collector.deliver
}

// Case 45 of the operating rules.
test('three searches are one event with their number and their client names', async (t) => {
  const collector = await startCollector(t)
  const { server, reporter } = await reportedServer(t, delivery(t, collector.url))
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
    'each event is reported once',
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
  test(`a collector that ${name} does not affect answers`, async (t) => {
    const { server, reporter } = await reportedServer(t, delivery(t, await url(t)))
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
  await reporter.close()
  t.true(batches.length > 1)
  for (const batch of batches) t.true(Buffer.byteLength(batch) <= 500_000)
  const sent = batches.flatMap((batch) => (JSON.parse(batch) as { batch: readonly unknown[] }).batch)
  t.is(sent.length, 1 + events.length)
})

test('a batch has the events and its time, and has at most 500 kB', async (t) => {
  const event = (bytes: number) => ({ type: 'track' as const, text: 'x'.repeat(bytes) })
  const [only] = batchesOf([event(10)], 0)
  t.deepEqual(JSON.parse(only ?? ''), { batch: [event(10)], sentAt: '1970-01-01T00:00:00.000Z' })
  t.deepEqual(batchesOf([], 0), [])
  for (let bytes = 249_900; bytes < 250_000; bytes += 1) {
    for (const batch of batchesOf([event(bytes), event(bytes)], 0)) t.true(batch.length <= 500_000)
  }
  t.deepEqual(batchesOf([event(500_000)], 0), [], 'an event that fits into no batch is left out')
})

/** A reporter with a clock that the test moves, and the names of the sent events. */
function timed(deliver: Deliver = async () => undefined) {
  const usage = openUsage()
  const sent: string[][] = []
  let now = 1_000
  let check = (): void => undefined
  const clock: ReportClock = {
    now: () => now,
    every(_ms, due) {
      check = due
      return () => {
        check = () => undefined
      }
    },
  }
  const { log } = openLogWithOutlets({ level: 'OFF', mode: 'JSON' })
  const reporter = openReporter({
    sender: { instanceUid, version: '1.0.0' },
    usage,
    traits: async () => ({}),
    isFirstStart: false,
    deliver: (batch) => {
      const { batch: events } = JSON.parse(batch) as { readonly batch: readonly CollectedEvent[] }
      sent.push(events.map(({ event, type }) => event ?? type))
      return deliver(batch)
    },
    log,
    clock,
  })
  const pass = async (ms: number): Promise<void> => {
    now += ms
    check()
    // A due report is delivered in pending promises, none of which waits for anything.
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { usage, reporter, sent, pass }
}

const minute = 60_000

test('a report is sent one hour after the last report, and not earlier', async (t) => {
  const { usage, sent, pass, reporter } = timed()
  t.teardown(() => reporter.close())
  usage.record('dumpCreated', {}, undefined)
  await pass(59 * minute)
  t.deepEqual(sent, [])
  await pass(minute)
  t.deepEqual(sent, [['identify', 'Dump Created']])
  await pass(59 * minute)
  t.is(sent.length, 1)
  usage.record('snapshotCreated', {}, undefined)
  await pass(minute)
  t.deepEqual(sent[1], ['identify', 'Snapshot Created'])
})

test('a report is sent early once 500 kB are counted', async (t) => {
  const { usage, sent, pass, reporter } = timed()
  t.teardown(() => reporter.close())
  const fill = (event: UsageEvent): void => {
    for (let i = 0; i < 100; i++) usage.record(event, {}, `${i} ${'€'.repeat(500)}`)
  }
  const [first, ...others] = Object.keys(usageEvents) as [UsageEvent, ...UsageEvent[]]
  fill(first)
  await pass(minute)
  t.deepEqual(sent, [])
  for (const event of others) if (usage.bytes() < 500_000) fill(event)
  t.true(usage.bytes() >= 500_000)
  await pass(minute)
  t.true(sent.length > 1, 'no batch is longer than 500 kB')
  t.true(usage.isEmpty)
})

test('closing the reporter sends everything counted since the last report', async (t) => {
  const { usage, reporter, sent, pass } = timed()
  usage.record('dumpCreated', {}, undefined)
  await reporter.close()
  t.deepEqual(sent, [['identify', 'Dump Created']])
  usage.record('dumpCreated', {}, undefined)
  await pass(120 * minute)
  t.is(sent.length, 1, 'a closed reporter sends nothing more')
})

test('closing the reporter sends no report if nothing was counted since the last one', async (t) => {
  const { usage, reporter, sent } = timed()
  usage.record('dumpCreated', {}, undefined)
  await reporter.report()
  await reporter.close()
  t.is(sent.length, 1)
})

test('a reporter closes even if its collector never answers', async (t) => {
  const { usage, reporter, sent } = timed(() => new Promise(() => undefined))
  usage.record('dumpCreated', {}, undefined)
  void reporter.report()
  usage.record('snapshotCreated', {}, undefined)
  await reporter.close()
  t.is(sent.length, 1, 'the earlier report still waits')
})
