/** A server killed while it embeds documents does not send answered texts again. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'ava'
import { startDaemon } from '../../support/daemon.js'
import { startProvider, vectorOf } from '../../support/provider.js'
import { nativeEngine } from '../../support/requirements.js'
import { testEngine } from '../../support/server.js'
import { testNeeding } from '../../support/test-needing.js'
import { temporaryDirectory } from '../../tasks/test-queue.js'

const DOCUMENTS = 2000
/** Texts in forty concurrent requests. */
const IN_FLIGHT = 400

for (const engine of [testEngine]) {
  const runs = testNeeding(engine === 'native' ? [nativeEngine] : [], test)
  runs(`${engine}: after a kill only texts in flight are sent again`, async (t) => {
    const sent: string[] = []
    let halfWay: () => void = () => undefined
    const isHalfWay = new Promise<void>((resolve) => {
      halfWay = resolve
    })
    const provider = await startProvider(t, ({ body }) => {
      const { input } = body as { input: string[] }
      sent.push(...input)
      if (sent.length >= DOCUMENTS / 2) halfWay()
      return { data: input.map((text) => ({ embedding: vectorOf(text) })) }
    })
    const g = {
      source: 'rest',
      url: provider.url,
      dimensions: 2,
      request: { input: ['{{text}}', '{{..}}'] },
      response: { data: [{ embedding: '{{embedding}}' }, '{{..}}'] },
      documentTemplate: '{{doc.t}}',
    }
    const data = join(await temporaryDirectory(t), 'data')
    const start = () =>
      startDaemon(t, data, ['--engine', engine, '--experimental-allowed-ip-networks', '127.0.0.0/8'])
    const first = await start()
    await first.call('PATCH', '/indexes/i/settings/embedders', { g })
    const documents = Array.from({ length: DOCUMENTS }, (_, id) => ({ id, t: `text ${id}` }))
    const { taskUid } = (await first.call('POST', '/indexes/i/documents', documents)).body
    await isHalfWay
    await first.kill()

    const second = await start()
    const status = async () => (await second.call('GET', `/tasks/${taskUid}`)).body.status
    while (['enqueued', 'processing'].includes(await status()))
      await new Promise((resolve) => setTimeout(resolve, 20))
    t.is(await status(), 'succeeded')
    t.is(new Set(sent).size, DOCUMENTS)
    t.true(sent.length - DOCUMENTS <= IN_FLIGHT, `${sent.length - DOCUMENTS} texts were sent again`)
    const { body } = await second.call('GET', '/indexes/i/documents/1999?retrieveVectors=true')
    t.deepEqual(body._vectors, { g: { embeddings: [vectorOf('text 1999')], regenerate: true } })
    t.deepEqual(await readdir(join(data, 'paid_vectors')), [], 'the spool is empty after the commit')
  })
}
