import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startDaemon } from '../../support/daemon.js'
import { nativeEngine } from '../../support/requirements.js'
import { testNeeding } from '../../support/test-needing.js'

const runs = testNeeding([nativeEngine])

runs('a background fault of the native engine is logged and counted in the metrics', async (t) => {
  const data = await mkdtemp(join(tmpdir(), 'siftd-faults-'))
  t.teardown(() => rm(data, { recursive: true, force: true }))
  const options = ['--engine', 'native', '--log-format', 'json', '--log-level', 'warn']
  const daemon = await startDaemon(t, data, [...options, '--experimental-enable-metrics'])
  const counted = async (): Promise<number> => {
    const metrics = await (await fetch(`http://127.0.0.1:${daemon.port}/metrics`)).text()
    return Number(/^siftd_background_faults_total\{kind="file_removal"\} (\d+)$/m.exec(metrics)?.[1])
  }
  const settle = async (documents: readonly object[]): Promise<void> => {
    const { body } = await daemon.call('POST', '/indexes/films/documents', documents)
    for (;;) {
      const task = (await daemon.call('GET', `/tasks/${String(body.taskUid)}`)).body
      if (task.status === 'succeeded') return
      t.true(['enqueued', 'processing'].includes(String(task.status)), JSON.stringify(task))
      await sleep(10)
    }
  }
  await settle([{ id: 1 }])
  t.is(await counted(), 0)
  const [index = ''] = await readdir(join(data, 'indexes')).then((names) =>
    names.filter((name) => name.includes('-')),
  )
  // The engine removes this unused column file. A directory of that name makes the removal fail.
  const file = join(data, 'indexes', index, 'late-gone.column')
  await mkdir(file)
  await settle([{ id: 2 }])
  while ((await counted()) === 0) await sleep(10)
  t.is(await counted(), 1)
  const lines = daemon
    .log()
    .split('\n')
    .filter((line) => line.includes('file_removal'))
  t.is(lines.length, 1, daemon.log())
  t.like(JSON.parse(lines[0]!), {
    level: 'WARN',
    msg: 'work in the background failed',
    kind: 'file_removal',
    index,
    file,
  })
  t.is(await daemon.stop(), 0)
})
