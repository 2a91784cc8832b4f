/** Runs in a thread: accepts connections, answers searches, hands all other requests to the main thread. */
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTcpServer, type Server as TcpServer } from 'node:net'
import type { MessagePort } from 'node:worker_threads'
import { buildSearchServer } from '../server.js'
import { HandOver } from './hand-over.js'
import { isHot } from './hot-requests.js'
import { CLOSING_MS } from './limits.js'
import { openLoop } from './loop-services.js'
import type { LoopReport, LoopRequest, LoopSetup } from './messages.js'

/** Milliseconds that an idle connection stays open. Source: the default of fastify for the main thread. */
const IDLE_MS_MAX = 72_000

export async function runLoop(setup: LoopSetup, control: MessagePort): Promise<void> {
  const report = (message: LoopReport): void => control.postMessage(message)
  const { services, outbox } = await openLoop(setup, control)
  const handOver = new HandOver(setup.mainPath)
  let isStopping = false
  const createHotServer = (answer: RequestListener): Server =>
    createServer({ keepAliveTimeout: IDLE_MS_MAX }, (request, response) => {
      if (isStopping) response.shouldKeepAlive = false
      if (isHot(request)) answer(request, response)
      else handOver.pass(request, response)
    })
  const { app, figures } = buildSearchServer(
    { ...services, createServer: createHotServer },
    {
      idPrefix: `req-${setup.number}-`,
      countQuery: (search) => outbox.query(search),
      // The main thread answers every mistake and fault, so that errors are the same for all requests.
      onError(_error, request, reply) {
        request.isHandedOver = true
        reply.hijack()
        handOver.pass(request.raw, reply.raw, request.received)
      },
    },
  )
  await app.ready()
  const servers = await listen(app.server, setup)
  control.on('message', (request: LoopRequest) => {
    if (request.kind === 'figures') void sendFigures(request.call)
    else void stop(request.ms)
  })
  report({ kind: 'listening' })

  async function sendFigures(call: number): Promise<void> {
    outbox.flush()
    report({ kind: 'figures', call, figures: await figures() })
  }

  async function stop(ms: number): Promise<void> {
    isStopping = true
    const closed = Promise.all(
      servers.map((server) => new Promise<void>((resolve) => void server.close(() => resolve()))),
    )
    const closing = setInterval(() => app.server.closeIdleConnections(), CLOSING_MS)
    const deadline = setTimeout(() => app.server.closeAllConnections(), ms)
    await closed
    clearInterval(closing)
    clearTimeout(deadline)
    await app.close()
    handOver.close()
    outbox.flush()
    setup.changes.close()
    control.close()
  }
}

/** Listens on the sockets of the main thread. Each thread accepts what it has time for. */
async function listen(
  server: Server,
  { sockets, backlog }: Pick<LoopSetup, 'sockets' | 'backlog'>,
): Promise<readonly (Server | TcpServer)[]> {
  const servers = sockets.map((_, at) =>
    at === 0
      ? server
      : createTcpServer({ noDelay: true }, (socket) => void server.emit('connection', socket)),
  )
  for (const [at, fd] of sockets.entries())
    await new Promise<void>((resolve, reject) => {
      const one = servers[at]!
      one.once('error', reject)
      one.listen({ fd, backlog }, () => {
        one.off('error', reject)
        resolve()
      })
    })
  return servers
}
