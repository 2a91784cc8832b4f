import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { type CollectedEvent, startCollector } from '../../support/collector.js'
import { ServerProcess } from '../../support/server-process.js'

async function start(t: ExecutionContext, args: readonly string[]): Promise<ServerProcess> {
  const directory = await mkdtemp(join(tmpdir(), 'siftd-telemetry-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  const data = join(directory, 'data.ms')
  const started = await ServerProcess.start({
    data,
    engine: 'fallback',
    args,
    startMsMax: 120_000,
    analytics: true,
  })
  if (started.kind !== 'listening') throw new Error(started.errors)
  t.teardown(() => started.server.kill())
  return started.server
}

test('the first start is reported to the collector on the start screen', async (t) => {
  const collector = await startCollector(t)
  const server = await start(t, ['--telemetry-url', collector.url])
  const { origin } = new URL(collector.url)
  t.true(server.errors.includes(`"Enabled (every hour to ${origin})"`))
  const { userId } = await collector.until('Launched')
  t.true(server.errors.includes(`"${userId}"`), 'the uid of the instance is the anonymous user')
  t.like(collector.events[0], { type: 'identify', userId })
  await server.call('POST', '/indexes', { uid: 'films' })
  t.is(await server.stop(30_000), 0)
  t.true(
    collector.events.some(({ event }) => event === 'Index Created'),
    'counts since the start are reported at shutdown',
  )
})

test('a collector that never answers delays neither start nor shutdown', async (t) => {
  const collector = await startCollector(t, 'never')
  const server = await start(t, ['--telemetry-url', collector.url])
  await collector.until('Launched')
  t.is((await server.call('GET', '/health')).status, 200)
  t.is(await server.stop(15_000), 0)
})

test('with --no-analytics nothing is sent', async (t) => {
  const collector = await startCollector(t)
  const server = await start(t, ['--telemetry-url', collector.url, '--no-analytics'])
  t.true(server.errors.includes('"Disabled (--no-analytics)"'))
  t.is(await server.stop(30_000), 0)
  t.deepEqual(collector.events, [])
})

test('a preview prints the batches of start and shutdown, and sends nothing', async (t) => {
  const collector = await startCollector(t)
  const server = await start(t, ['--telemetry-url', collector.url, '--telemetry-preview'])
  t.true(server.errors.includes('"Disabled (--telemetry-preview: batches are printed, not sent)"'))
  await server.call('POST', '/indexes', { uid: 'films' })
  t.is(await server.stop(30_000), 0)
  const batches = server.output
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { readonly batch: readonly CollectedEvent[] }).batch)
  t.deepEqual(
    batches.map((events) => events.map(({ type, event }) => event ?? type)),
    [
      ['identify', 'Launched'],
      ['identify', 'Index Created'],
    ],
  )
  t.deepEqual(collector.events, [])
})
