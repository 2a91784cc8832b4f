import { join } from 'node:path'
import test from 'ava'
import { tempDir } from '../../backup/archives.js'
import { startDaemon } from '../../support/daemon.js'
import { startProvider } from '../../support/provider.js'

test('a provider receives at most as many requests per minute as the option allows', async (t) => {
  const provider = await startProvider(t, () => [1, 0])
  const daemon = await startDaemon(t, join(await tempDir(t), 'data.ms'), [
    ...['--embedder-requests-per-minute', '1', '--experimental-allowed-ip-networks', '127.0.0.0/8'],
  ])
  const rest = {
    source: 'rest',
    url: provider.url,
    request: '{{text}}',
    response: '{{embedding}}',
    dimensions: 2,
    documentTemplate: '{{doc.t}}',
  }
  const index = '/indexes/i'
  await daemon.call('PATCH', `${index}/settings?waitMs=60000`, { embedders: { rest } })
  const first = await daemon.call('POST', `${index}/documents?waitMs=60000`, [{ id: 1, t: 'first' }])
  t.is(first.body.status, 'succeeded')
  const { taskUid } = (await daemon.call('POST', `${index}/documents`, [{ id: 2, t: 'second' }])).body
  // The second request would come within the minute.
  while (!JSON.stringify((await daemon.call('GET', '/batches/2')).body).includes('embedding'));
  await daemon.call('POST', `/tasks/cancel?uids=${taskUid}&waitMs=60000`)
  t.deepEqual(
    provider.calls.map(({ body }) => body),
    ['first'],
  )
})
