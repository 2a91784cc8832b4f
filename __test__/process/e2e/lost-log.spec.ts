import { spawnSync } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { open, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { LineWriter } from '../../../ts/telemetry/line-writer.js'
import { tempDir } from '../../backup/archives.js'
import { startDaemon } from '../../support/daemon.js'
import { program } from '../../support/program.js'
import type { Requirement } from '../../support/requirements.js'
import { mountableDisks, smallDisk } from '../../support/small-disk.js'
import { testNeeding } from '../../support/test-needing.js'

// Rules tested here:
// 1. If standard error cannot be written, requests are still answered and the process still exits.
// 2. Once it can be written again, lines appear again, and one line reports how many were lost.

/** Opens a file until the test ends. */
function opened(t: ExecutionContext, path: string): number {
  const file = openSync(path, 'a')
  t.teardown(() => closeSync(file))
  return file
}

async function fillDisk(disk: string): Promise<void> {
  const ballast = await open(join(disk, 'ballast'), 'w')
  try {
    for (;;) await ballast.write(Buffer.alloc(64 * 1024))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  } finally {
    await ballast.close()
  }
}

type Output = (t: ExecutionContext) => number | 'closed' | 'unread' | Promise<number>

const outputs: readonly (readonly [name: string, output: Output, needs: readonly Requirement[]])[] = [
  ['a device without space', (t) => opened(t, '/dev/full'), []],
  ['a closed pipe', () => 'closed', []],
  ['a pipe that is not read', () => 'unread', []],
  [
    'a file on a full disk',
    async (t) => {
      const disk = await smallDisk(t, 1)
      await fillDisk(disk)
      return opened(t, join(disk, 'log'))
    },
    [mountableDisks],
  ],
]

for (const [name, output, needs] of outputs) {
  testNeeding(needs)(
    `${name} as standard error: requests are answered and the process exits with 0`,
    async (t) => {
      const stderr = await output(t)
      const args = ['--engine', 'fallback', '--log-level', 'INFO']
      const { call, stop } = await startDaemon(t, join(await tempDir(t), 'data'), args, {}, stderr)
      // Lines of 3 KB, in total more than the buffers of pipes and sockets.
      const metadata = 'x'.repeat(3_000)
      for (let round = 0; round < 30; round++) {
        const path = `/indexes/none/documents?fields=${metadata}`
        const answers = await Promise.all(Array.from({ length: 10 }, () => call('GET', path)))
        t.true(answers.every(({ status }) => status === 404))
      }
      t.is(await stop(), 0)
    },
  )
}

testNeeding([mountableDisks])(
  'lines are written again once the disk has space, and one line reports how many were lost',
  async (t) => {
    const disk = await smallDisk(t, 4)
    await fillDisk(disk)
    const path = join(disk, 'log')
    const writer = new LineWriter({ fd: opened(t, path) }, (lost) => `lost ${lost}\n`)
    const count = 20_000
    for (let at = 0; at < count; at++) writer.write(`line ${String(at).padStart(90, '0')}\n`)
    await writer.end()
    t.is(await readFile(path, 'utf8'), '')

    await rm(join(disk, 'ballast'))
    const text = () => readFile(path, 'utf8')
    while (!/^lost /m.test(await text())) await new Promise((resolve) => setTimeout(resolve, 20))
    writer.write('after\n')
    await writer.end()
    const lines = (await text()).trimEnd().split('\n')
    const written = lines.filter((line) => line.startsWith('line '))
    t.deepEqual(
      written,
      written.map((_, at) => `line ${String(at).padStart(90, '0')}`),
    )
    t.deepEqual(lines.slice(written.length), [`lost ${count - written.length}`, 'after'])
  },
)

test('a failed start has its exit code even if standard error cannot be written', (t) => {
  const full = opened(t, '/dev/full')
  const { status } = spawnSync(process.execPath, [program, '--no-such-option'], {
    stdio: ['ignore', full, full],
  })
  t.is(status, 2)
  t.is(spawnSync(process.execPath, [program, '--version'], { stdio: ['ignore', full, full] }).status, 0)
})
