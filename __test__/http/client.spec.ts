import test from 'ava'
import { Meilisearch } from 'meilisearch'
import { defaultWaitOptions } from '../support/client.js'
import { startServer } from '../support/server.js'

test('the official client creates an index, adds documents, waits and searches', async (t) => {
  const masterKey = 'harbour-lantern-4471-xyz'
  const server = await startServer(t, { masterKey })
  const client = new Meilisearch({ host: server.url, apiKey: masterKey, defaultWaitOptions })
  t.true(await client.isHealthy())

  const created = await client.createIndex('films', { primaryKey: 'id' }).waitTask()
  t.is(created.status, 'succeeded')
  const index = client.index<{ id: number; title: string; genre: string }>('films')
  await index.updateFilterableAttributes(['genre']).waitTask()
  const added = await index
    .addDocuments([
      { id: 1, title: 'Solaris', genre: 'drama' },
      { id: 2, title: 'Alien', genre: 'horror' },
      { id: 3, title: 'Stalker', genre: 'drama' },
    ])
    .waitTask()
  t.deepEqual(added.details, { receivedDocuments: 3, indexedDocuments: 3 })

  const found = await index.search('solari', { filter: 'genre = drama', attributesToHighlight: ['title'] })
  t.deepEqual(
    found.hits.map((hit) => hit.id),
    [1],
  )
  t.is(found.hits[0]?._formatted?.title, '<em>Solari</em>s')
  t.deepEqual((await index.searchGet('', { facets: ['genre'] })).facetDistribution, {
    genre: { drama: 2, horror: 1 },
  })
  const several = await client.multiSearch({ queries: [{ indexUid: 'films', q: 'alien' }] })
  t.is(several.results[0]?.hits[0]?.id, 2)
  t.is((await index.getDocument(2)).title, 'Alien')
  t.deepEqual((await index.getDocuments({ filter: 'genre = drama', fields: ['id'] })).results, [
    { id: 1 },
    { id: 3 },
  ] as never)
  await index.deleteDocument(2).waitTask()
  t.is((await index.getStats()).numberOfDocuments, 2)
  t.is((await client.getKeys()).total, 4)
  t.is((await client.getVersion()).pkgVersion, '0.0.0')
  const missing = await t.throwsAsync(client.getIndex('ghost'))
  t.regex(missing.message, /ghost/)
})
