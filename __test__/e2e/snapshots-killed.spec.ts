/** A process that is killed while it takes or restores a snapshot leaves nothing that looks finished and is not. */
import { spawn } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import test, { type ExecutionContext } from 'ava'
import { tempDir } from '../backup/archives.js'
import { startDaemon, type TestDaemon } from '../support/daemon.js'
import { testEngine } from '../support/server.js'

const DOCUMENTS = 4000
/** Milliseconds after which the process is killed: at the beginning, at the end, and between. */
const DELAYS = [0, 15, 40, 80, 160, 320]

const engine = ['--engine', testEngine === 'auto' ? 'native' : testEngine]

async function settled(server: TestDaemon, uid: unknown): Promise<string> {
  for (;;) {
    const { status } = (await server.call('GET', `/tasks/${uid}`)).body
    if (status !== 'enqueued' && status !== 'processing') return String(status)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

async function filled(t: ExecutionContext) {
  const parent = await tempDir(t)
  const [data, snapshots] = [join(parent, 'data.ms'), join(parent, 'snapshots')]
  const start = () => startDaemon(t, data, [...engine, '--snapshot-dir', snapshots])
  const server = await start()
  const documents = Array.from({ length: DOCUMENTS }, (_, id) => ({ id, t: `word${id % 97} and ${id}` }))
  const { body } = await server.call('POST', '/indexes/things/documents', documents)
  t.is(await settled(server, body.taskUid), 'succeeded')
  return { parent, snapshots, archive: join(snapshots, 'data.ms.snapshot'), server, start }
}

const count = async (server: TestDaemon): Promise<unknown> =>
  (await server.call('GET', '/indexes/things/stats')).body.numberOfDocuments

test('a snapshot whose process was killed is taken again, and the one before stays whole until then', async (t) => {
  const { parent, snapshots, archive, server, start } = await filled(t)
  const first = (await server.call('POST', '/snapshots')).body
  t.is(await settled(server, first.taskUid), 'succeeded')
  let running = server
  for (const [round, delay] of DELAYS.entries()) {
    const { body } = await running.call('POST', '/snapshots')
    await new Promise((resolve) => setTimeout(resolve, delay))
    await running.kill()
    const into = join(parent, `restored-${round}.ms`)
    const restored = await startDaemon(t, into, [...engine, '--import-snapshot', archive])
    t.is(await count(restored), DOCUMENTS, `killed after ${delay} ms`)
    await restored.kill()
    running = await start()
    t.is(await settled(running, body.taskUid), 'succeeded')
    t.deepEqual(await readdir(snapshots), ['data.ms.snapshot'])
  }
})

test('a restore that was killed leaves no data behind, or all of it', async (t) => {
  const { parent, archive, server } = await filled(t)
  t.is(await settled(server, (await server.call('POST', '/snapshots')).body.taskUid), 'succeeded')
  await server.kill()
  const data = join(parent, 'restored.ms')
  const args = [...engine, '--import-snapshot', archive, '--ignore-snapshot-if-db-exists']
  const main = fileURLToPath(new URL('../../ts/cli/main.js', import.meta.url))
  for (const delay of DELAYS) {
    const child = spawn(process.execPath, [main, '--db-path', data, '--http-addr', '127.0.0.1:0', ...args])
    const ended = new Promise((resolve) => child.once('exit', resolve))
    // The program takes about half a second to load before it looks at the archive.
    await new Promise((resolve) => setTimeout(resolve, 400 + 2 * delay))
    child.kill('SIGKILL')
    await ended
  }
  const restored = await startDaemon(t, data, args)
  t.is(await count(restored), DOCUMENTS)
  await restored.stop()
  t.deepEqual(
    (await readdir(parent)).filter((name) => name.includes('importing')),
    [],
  )
})
