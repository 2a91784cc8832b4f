import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import test from 'ava'
import { startDaemon, type TestDaemon } from '../../support/daemon.js'
import { otherThanWindows } from '../../support/requirements.js'
import { testEngine } from '../../support/server.js'
import { testNeeding } from '../../support/test-needing.js'
import { temporaryDirectory } from '../../tasks/test-queue.js'

const engine = testEngine

/** Number of simultaneous clients, limited by the listen backlog of the system. */
const clients = Math.min(2_000, waitingMax())

function waitingMax(): number {
  try {
    return Number(readFileSync('/proc/sys/net/core/somaxconn', 'utf8'))
  } catch {
    // A backlog that every system allows.
    return 100
  }
}

/** Sends `count` concurrent writes of one document. @returns promises of all connections and all answers */
function writeAll({ port }: TestDaemon, count: number, agent: Agent | false) {
  const writes = Array.from({ length: count }, (_, id) => {
    const body = JSON.stringify({ id })
    const headers = { 'content-type': 'application/json', 'content-length': body.length }
    const sent = request({ port, agent, method: 'POST', path: '/indexes/notes/documents', headers })
    const connected = new Promise<void>((resolve) =>
      sent.once('socket', (socket) =>
        socket.connecting ? socket.once('connect', () => resolve()) : resolve(),
      ),
    )
    const answered = new Promise<number>((resolve, reject) => {
      sent.on('error', reject)
      sent.once('response', (answer) => {
        let text = ''
        answer.on('data', (chunk: Buffer) => {
          text += chunk.toString()
        })
        answer.once('end', () =>
          answer.statusCode === 202
            ? resolve((JSON.parse(text) as { taskUid: number }).taskUid)
            : reject(new Error(`${answer.statusCode}: ${text}`)),
        )
      })
    })
    // Ignores errors after the end of the test.
    answered.catch(() => undefined)
    sent.end(body)
    return { connected, answered }
  })
  return {
    connected: Promise.all(writes.map(({ connected }) => connected)),
    answered: Promise.all(writes.map(({ answered }) => answered)),
  }
}

async function settled(daemon: TestDaemon): Promise<void> {
  const left = async () =>
    (await daemon.call('GET', '/tasks?statuses=enqueued,processing&limit=0')).body.total
  while ((await left()) > 0) await new Promise((resolve) => setTimeout(resolve, 20))
}

const halts = testNeeding([otherThanWindows('Windows cannot suspend and resume a process')], test)

halts('clients that connect while the server is suspended are all answered later', async (t) => {
  const daemon = await startDaemon(t, join(await temporaryDirectory(t), 'data'), ['--engine', engine])
  daemon.signal('SIGSTOP')
  const writes = writeAll(daemon, clients, false)
  // The system establishes connections by itself, up to the listen backlog.
  await writes.connected
  daemon.signal('SIGCONT')
  t.is(new Set(await writes.answered).size, clients)
  await settled(daemon)
  t.is((await daemon.call('GET', '/tasks?limit=0')).body.total, clients)
  t.is((await daemon.call('GET', '/indexes/notes/documents?limit=0')).body.total, clients)
})

test('two thousand concurrent writes over keep-alive connections become as many tasks', async (t) => {
  const daemon = await startDaemon(t, join(await temporaryDirectory(t), 'data'), ['--engine', engine])
  const agent = new Agent({ keepAlive: true, maxSockets: 100 })
  t.teardown(() => agent.destroy())
  const { answered } = writeAll(daemon, 2_000, agent)
  t.is(new Set(await answered).size, 2_000)
  await settled(daemon)
  t.is((await daemon.call('GET', '/tasks?statuses=succeeded&limit=0')).body.total, 2_000)
  t.is((await daemon.call('GET', '/indexes/notes/documents?limit=0')).body.total, 2_000)
})
