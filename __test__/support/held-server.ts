import type { ExecutionContext } from 'ava'
import type { Engine } from '../../ts/engine/index.js'
import { startServer, type TestServerOptions } from './server.js'

const pause = () => new Promise((resolve) => setTimeout(resolve, 5))

/** A server whose queue is blocked by a first task, number 0, until it is released. */
export async function heldServer(t: ExecutionContext, options: TestServerOptions = {}) {
  let release: () => void = () => undefined
  const passed = new Promise<void>((resolve) => {
    release = resolve
  })
  const hold = (engine: Engine): Engine =>
    new Proxy(engine, {
      get(target, name) {
        if (name === 'prepare') {
          return async (...given: Parameters<Engine['prepare']>) => {
            if (given[1].indexUid === 'hold') await passed
            return target.prepare(...given)
          }
        }
        const member: unknown = Reflect.get(target, name)
        return typeof member === 'function' ? member.bind(target) : member
      },
    })
  const limits = { ...options.limits, batchesMax: 1 }
  const server = await startServer(t, { ...options, limits, queueEngine: hold })
  // Runs before the server closes, because closing waits for the queue.
  t.teardown(() => release())
  await server.post('/indexes', { uid: 'hold' })
  while ((await server.get('/tasks/0')).body.status !== 'processing') await pause()
  const ended = async (uid: number) => {
    for (;;) {
      const { body } = await server.get(`/tasks/${uid}`)
      if (!['enqueued', 'processing'].includes(body.status)) return body
      await pause()
    }
  }
  return { ...server, release: () => release(), ended }
}
