import { syncBuiltinESMExports } from 'node:module'
import threads from 'node:worker_threads'
import test from 'ava'
import { RenderThread } from '../../ts/embedding/index.js'

test('renderings fail while no thread can be started, and work again afterwards', async (t) => {
  const thread = new RenderThread()
  t.teardown(() => thread.close())
  const render = (a: number) => thread.text('{{doc.a}}', { doc: { a } } as never, null)
  const { Worker } = threads
  threads.Worker = class extends Worker {
    constructor(...given: ConstructorParameters<typeof Worker>) {
      super(...given)
      void this.terminate()
      throw Object.assign(new Error('no more threads'), { code: 'ERR_WORKER_INIT_FAILED' })
    }
  }
  syncBuiltinESMExports()
  const failed = await Promise.allSettled([render(1), render(2)])
  threads.Worker = Worker
  syncBuiltinESMExports()
  t.deepEqual(
    failed.map((one) => (one.status === 'rejected' ? one.reason.message : one.value)),
    ['the rendering thread cannot be started', 'the rendering thread cannot be started'],
  )
  t.is(await render(3), '3')
})
