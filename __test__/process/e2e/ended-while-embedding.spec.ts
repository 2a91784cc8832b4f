import { join } from 'node:path'
import test from 'ava'
import { startDaemon } from '../../support/daemon.js'
import { startProvider, vectorOf } from '../../support/provider.js'
import { nativeEngine } from '../../support/requirements.js'
import { testEngine } from '../../support/server.js'
import { testNeeding } from '../../support/test-needing.js'
import { temporaryDirectory } from '../../tasks/test-queue.js'

const documents = [
  { id: 1, t: 'red' },
  { id: 2, t: 'blue' },
]

for (const [engine, end] of [testEngine].flatMap((engine) =>
  (['kill', 'stop'] as const).map((end) => [engine, end] as const),
)) {
  const runs = testNeeding(engine === 'native' ? [nativeEngine] : [], test)
  runs(
    `${engine}: documents in embedding at the ${end} of a server are embedded by the next start`,
    async (t) => {
      let isHeld = true
      const provider = await startProvider(t, ({ body }) => (isHeld ? null : [...vectorOf(body)]))
      const embedder = { source: 'rest', request: '{{text}}', response: '{{embedding}}', dimensions: 2 }
      const data = join(await temporaryDirectory(t), 'data')
      const start = () =>
        startDaemon(t, data, ['--engine', engine, '--experimental-allowed-ip-networks', '127.0.0.0/8'])

      const first = await start()
      const g = { ...embedder, url: provider.url, documentTemplate: '{{doc.t}}' }
      await first.call('PATCH', '/indexes/i/settings/embedders', { g })
      const { taskUid } = (await first.call('POST', '/indexes/i/documents', documents)).body
      while (provider.calls.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
      t.is(
        (await first.call('GET', '/indexes/i/documents')).body.total,
        0,
        'documents are visible only with their vectors',
      )
      // A shutdown does not wait for a provider that may never answer.
      await first[end]()

      isHeld = false
      const second = await start()
      const task = async () => (await second.call('GET', `/tasks/${taskUid}`)).body
      while (['enqueued', 'processing'].includes((await task()).status))
        await new Promise((resolve) => setTimeout(resolve, 5))
      t.like(await task(), { status: 'succeeded', details: { receivedDocuments: 2, indexedDocuments: 2 } })
      const { results } = (await second.call('GET', '/indexes/i/documents?retrieveVectors=true')).body
      t.deepEqual(
        results.map(({ id, _vectors }) => [id, _vectors]),
        documents.map(({ id, t }) => [id, { g: { embeddings: [vectorOf(t)], regenerate: true } }]),
      )
    },
  )
}
