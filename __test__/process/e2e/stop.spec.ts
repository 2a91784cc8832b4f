import { type ChildProcess, spawn } from 'node:child_process'
import { createWriteStream, existsSync } from 'node:fs'
import { access, readdir, readFile, realpath, symlink } from 'node:fs/promises'
import { request } from 'node:http'
import { delimiter, dirname, join } from 'node:path'
import { finished } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import test, { type ExecutionContext } from 'ava'
import { tempDir } from '../../backup/archives.js'
import { startDaemon, type TestDaemon } from '../../support/daemon.js'
import { program } from '../../support/program.js'
import { nativeEngine, otherThanWindows } from '../../support/requirements.js'
import { askToStop, stopChannel } from '../../support/stopping.js'
import { testNeeding } from '../../support/test-needing.js'

// Rules tested here:
// 1. A shutdown interrupts the current batch, begins no other, and exits with code 0.
// 2. The next start repeats the interrupted batch completely.
// 3. A shutdown during an import ends the start and leaves no files.
// 4. `npm start` ends with the server, whichever process gets the signal.

/** Enough that the shutdown arrives while they are indexed. */
const DOCUMENTS = { fallback: 60_000, native: 200_000 }

/** Detects a hang. A normal shutdown is far faster. */
const HANGING_MS = 20_000

const lineOf = (id: number) =>
  `${JSON.stringify({ id, title: `title ${id} of ${id % 977}`, text: `some words ${id * 7} and ${id % 13} others` })}\n`

/** Writes a large body. */
async function documentsFile(t: ExecutionContext, count: number): Promise<string> {
  const path = join(await tempDir(t), 'documents.ndjson')
  const file = createWriteStream(path)
  for (let from = 0; from < count; from += 10_000)
    file.write(Array.from({ length: 10_000 }, (_, at) => lineOf(from + at)).join(''))
  file.end()
  await finished(file)
  return path
}

async function post(daemon: TestDaemon, path: string, body: Buffer): Promise<number> {
  const headers = { 'content-type': 'application/x-ndjson' }
  const answer = await fetch(`http://127.0.0.1:${daemon.port}${path}`, {
    method: 'POST',
    headers,
    body: new Uint8Array(body),
  })
  return ((await answer.json()) as { taskUid: number }).taskUid
}

const pause = (ms = 20) => new Promise((resolve) => setTimeout(resolve, ms))

/** Waits until the current batch is in this step. */
async function until(daemon: TestDaemon, step: string): Promise<void> {
  for (;;) {
    const { results } = (await daemon.call('GET', '/batches?statuses=processing')).body
    if (JSON.stringify(results).includes(`"${step}"`)) return
    const { total } = (await daemon.call('GET', '/tasks?statuses=succeeded,failed')).body
    if (Number(total) > 0) return
    await pause()
  }
}

/** Stops a daemon and asserts that it ends in time. @returns the duration in milliseconds */
async function stopped(t: ExecutionContext, daemon: TestDaemon): Promise<number> {
  const from = performance.now()
  const code = await Promise.race([daemon.stop(), pause(HANGING_MS).then(() => 'did not end' as const)])
  t.is(code, 0, daemon.log())
  return performance.now() - from
}

for (const engine of ['fallback', 'native'] as const) {
  const count = DOCUMENTS[engine]
  // Serial, because the duration of the shutdown is measured.
  const runs = testNeeding(engine === 'native' ? [nativeEngine] : [])
  const args = ['--engine', engine, '--log-level', 'INFO']

  for (const step of ['computing document changes', 'indexing'])
    runs(
      `${engine}: a shutdown during ${step} of a large import is fast, and the next start finishes it`,
      async (t) => {
        t.timeout(170_000)
        const body = await readFile(await documentsFile(t, count))
        const data = join(await tempDir(t), 'data')
        const first = await startDaemon(t, data, args)
        const taskUid = await post(first, '/indexes/large/documents', body)
        const settings = { displayedAttributes: ['id'] }
        const behind = (await first.call('PATCH', '/indexes/large/settings', settings)).body.taskUid
        await until(first, step)
        t.log(`stopped within ${Math.round(await stopped(t, first))} ms`)
        t.regex(first.log(), /a batch was interrupted/)

        const second = await startDaemon(t, data, args)
        const task = async (uid: unknown) => (await second.call('GET', `/tasks/${uid}`)).body
        t.not((await task(behind)).status, 'succeeded', 'the next batch has not begun')
        while (['enqueued', 'processing'].includes((await task(behind)).status)) await pause(100)
        t.like(await task(taskUid), {
          status: 'succeeded',
          details: { receivedDocuments: count, indexedDocuments: count },
        })
        t.is((await second.call('GET', '/indexes/large/stats')).body.numberOfDocuments, count)
      },
    )

  runs(`${engine}: a shutdown during the import of a dump ends the start and leaves no files`, async (t) => {
    const data = join(await tempDir(t), 'data')
    const dumps = join(await tempDir(t), 'dumps')
    const source = await startDaemon(t, data, [...args, '--dump-dir', dumps])
    const body = await readFile(await documentsFile(t, count / 4))
    const succeeded = async (count: number): Promise<void> => {
      while (Number((await source.call('GET', '/tasks?statuses=succeeded')).body.total) < count)
        await pause(100)
    }
    await post(source, '/indexes/large/documents', body)
    await succeeded(1)
    await source.call('POST', '/dumps')
    await succeeded(2)
    t.is(await source.stop(), 0)
    const [dump = ''] = await readdir(dumps)

    let imports = 0
    /** Starts an import and stops it. @returns how its process ended, null if the import ended before the stop */
    const stoppedImport = async (target: string): Promise<unknown> => {
      const given = ['--db-path', target, '--http-addr', '127.0.0.1:0', '--import-dump', join(dumps, dump)]
      const child = spawn(process.execPath, [program, ...args, ...given], {
        stdio: ['ignore', 'ignore', 'pipe', ...stopChannel],
      })
      t.teardown(() => child.kill('SIGKILL'))
      imports++
      let log = ''
      child.stderr?.setEncoding('utf8').on('data', (text: string) => (log += text))
      const ended = new Promise((resolve) => child.once('exit', resolve))
      const indexes = `${target}.importing-${child.pid}/indexes`
      while ((await readdir(indexes).catch(() => [])).length === 0) {
        t.is(child.exitCode, null, log)
        if (existsSync(target)) return null
        await pause(1)
      }
      askToStop(child)
      return await Promise.race([ended, pause(HANGING_MS)])
    }
    let target: string
    let code: unknown
    // On a busy machine the import may end before the stop.
    do {
      target = join(await tempDir(t), 'data')
      code = await stoppedImport(target)
    } while (code === null && imports < 5)
    t.is(code, 0)
    t.deepEqual(await readdir(dirname(target)), [])
  })
}

test.serial('uploads in flight and idle connections do not delay a shutdown', async (t) => {
  const daemon = await startDaemon(t, join(await tempDir(t), 'data'), ['--engine', 'fallback'])
  const upload = request({
    port: daemon.port,
    host: '127.0.0.1',
    method: 'POST',
    path: '/indexes/a/documents',
    headers: { 'content-type': 'application/x-ndjson', 'transfer-encoding': 'chunked' },
  })
  const failed = new Promise((resolve) => upload.on('error', resolve).once('response', resolve))
  upload.write('{"id":1}\n')
  await pause(100)
  await stopped(t, daemon)
  await failed
})

/** Creates a PATH with only these commands. Without cargo nothing is built before the server starts. */
async function commandsAlone(t: ExecutionContext, names: readonly string[]): Promise<string> {
  const directory = await tempDir(t)
  for (const name of names) {
    const places = (process.env.PATH ?? '').split(delimiter).map((place) => join(place, name))
    const found = places.find((path) => existsSync(path))
    if (found !== undefined) await symlink(await realpath(found), join(directory, name))
  }
  return directory
}

/** Shutdown requests: how to send each, and why Windows does not support it. */
const requests: readonly (readonly [string, (child: ChildProcess) => void, string | null])[] = [
  ['SIGTERM', (child) => child.kill('SIGTERM'), 'a signal ends a process at once'],
  ['SIGINT', (child) => child.kill('SIGINT'), 'a signal ends a process at once'],
  ['shutdown', (child) => child.send('shutdown'), null],
]

for (const [request, send, lack] of requests)
  testNeeding(lack === null ? [] : [otherThanWindows(lack)], test)(
    `${request} stops a server with exit code 0, and other messages do not`,
    async (t) => {
      const data = join(await tempDir(t), 'data')
      const args = ['--db-path', data, '--http-addr', '127.0.0.1:0', '--engine', 'fallback']
      const child = spawn(process.execPath, [program, ...args, '--experimental-logs-mode', 'JSON'], {
        stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      })
      t.teardown(() => child.kill('SIGKILL'))
      const closed = new Promise((resolve) => child.once('close', (code, signal) => resolve([code, signal])))
      let log = ''
      const listening = new Promise<string>((resolve, reject) => {
        child.stderr?.setEncoding('utf8').on('data', (text: string) => {
          log += text
          const [, url] = /Server listening on: +"([^"]+)"/.exec(log) ?? []
          if (url !== undefined) resolve(url)
        })
        child.once('close', () => reject(new Error(log)))
      })
      const url = await listening
      child.send('stop')
      t.is((await fetch(`${url}/health`)).status, 200)
      send(child)
      t.deepEqual(await closed, [0, null], log)
      t.regex(
        log,
        new RegExp(`"signal":"${request}".*"msg":"stopping"|"msg":"stopping".*"signal":"${request}"`),
      )
      await t.throwsAsync(access(join(data, 'tasks', 'lock')), { code: 'ENOENT' })
    },
  )

const withGroups = testNeeding([otherThanWindows('Windows has no process groups')])
for (const target of ['npm alone', 'its process group'])
  withGroups(`npm start ends with the server when ${target} gets the signal`, async (t) => {
    const data = join(await tempDir(t), 'data')
    const root = fileURLToPath(new URL('../../../../', import.meta.url))
    const given = ['--db-path', data, '--http-addr', '127.0.0.1:0', '--engine', 'fallback']
    const npm = spawn('npm', ['start', '--', ...given], {
      cwd: root,
      env: { ...process.env, PATH: await commandsAlone(t, ['node', 'npm', 'sh']) },
      detached: true,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    let log = ''
    npm.stderr.on('data', (chunk) => {
      log += String(chunk)
    })
    t.teardown(() => {
      try {
        process.kill(-(npm.pid ?? 0), 'SIGKILL')
      } catch {
        // The process group has already ended.
      }
    })
    const closed = new Promise((resolve) => npm.once('close', resolve))
    while (!log.includes('Server listening on')) {
      if (npm.exitCode !== null) t.fail(log)
      await pause(50)
    }
    process.kill(target === 'npm alone' ? (npm.pid ?? 0) : -(npm.pid ?? 0), 'SIGTERM')
    // Standard error is closed when the last process ends.
    t.not(await Promise.race([closed, pause(HANGING_MS).then(() => 'hanging')]), 'hanging')
    t.regex(log, /stopped\n/)
    await t.throwsAsync(access(join(data, 'tasks', 'lock')), { code: 'ENOENT' })
  })

test('a shutdown answers requests that wait for tasks and ends task streams', async (t) => {
  const daemon = await startDaemon(t, join(await tempDir(t), 'data.ms'), [
    '--experimental-max-number-of-batched-tasks',
    '0',
  ])
  await daemon.call('PATCH', '/experimental-features', { tasksStreamingRoute: true })
  const stream = await fetch(`http://127.0.0.1:${daemon.port}/tasks/stream`)
  const events = stream.text()
  const write = daemon.call('POST', '/indexes?waitMs=60000', { uid: 'boats' })
  while ((await daemon.call('GET', '/tasks/0')).status !== 200) await pause()
  t.is(await daemon.stop(), 0)
  t.like(await write, { status: 202, body: { taskUid: 0, status: 'enqueued' } })
  // A broken connection would reject.
  t.regex(await events, /^retry: 10000\n\ndata: \{"uid":0,/)
})
