import test from 'ava'
import { namesIn, startCollector } from '../support/collector.js'
import { metricNames } from './names.js'
import { instanceUid, reportedServer } from './world.js'

test('every metric of the documentation arrives at a collector under its name, and nothing of the data', async (t) => {
  const collector = await startCollector(t)
  const { server, reporter } = await reportedServer(t, collector.url, ['--db-path', '/secretpath/data.ms'])
  const index = '/indexes/secretindex'
  await server.settle(t, server.post('/indexes', { uid: 'secretindex', primaryKey: 'sku' }))
  await server.settle(t, server.post(`${index}/documents`, [{ sku: 1, secretfield: 'secretword' }]))
  await server.put(`${index}/documents`, [{ sku: 1 }])
  await server.settle(t, server.patch(`${index}/settings`, { filterableAttributes: ['secretfield'] }))
  await server.post(`${index}/search`, { q: 'secretword', filter: 'secretfield = secretword' })
  await server.get(`${index}/search?q=secretword`)
  await server.post('/multi-search', { queries: [{ indexUid: 'secretindex', q: 'secretword' }] })
  await server.post(`${index}/facet-search`, { facetName: 'secretfield', facetQuery: 'secret' })
  await server.post(`${index}/similar`, { id: 1, embedder: 'secretname' })
  await server.get(`${index}/documents`)
  await server.delete(`${index}/documents/2`)
  await server.get('/tasks?indexUids=secretindex')
  await server.get('/stats')
  await server.post('/swap-indexes', [])
  await server.patch('/experimental-features', { network: true })
  await server.patch('/network', { self: 'secretself' })
  const { body } = await server.post('/webhooks', { url: 'https://secret.example' })
  await server.patch(`/webhooks/${body.uuid}`, { url: 'https://secret.example/2' })
  await server.post('/export', { url: 'https://secret.example', apiKey: 'secretkey' })
  await server.post('/dumps')
  await reporter.report()

  const { events } = collector
  const names = new Set(
    events.flatMap(({ context, traits, properties }) => [
      ...namesIn({ context }),
      ...namesIn(traits ?? {}),
      ...namesIn(properties ?? {}),
    ]),
  )
  for (const [table, all] of Object.entries(metricNames)) {
    for (const name of all) t.true(names.has(name), `${table}: ${name}`)
  }
  t.notRegex(JSON.stringify(events), /secret|127\.0\.0\.1/)

  for (const one of events) t.like(one, { userId: instanceUid, context: { app: { version: '9.8.7' } } })
  const [identify, ...tracks] = events
  t.is(identify?.type, 'identify')
  t.like(identify?.traits, {
    start_since_days: 0,
    stats: { indexes_number: 1, documents_number: 1 },
    infos: {
      env: 'development',
      db_path: true,
      http_addr: false,
      schedule_snapshot: null,
      gpu_enabled: false,
    },
    system: { server_provider: 'some-cloud' },
  })
  t.deepEqual([...new Set(tracks.map(({ type }) => type))], ['track'])
  t.true(
    tracks.every(
      ({ event, properties }) =>
        event === 'Launched' || namesIn(properties).includes('requests.total_received'),
    ),
  )
  t.true(tracks.some(({ event }) => event === 'Launched'))
})
