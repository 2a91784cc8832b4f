import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtemp, open, rm, statfs } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import test, { type ExecutionContext } from 'ava'
import { hasNative } from '../support/native.js'

// Rules held here, on a real file system of 64 MiB:
// 1. A write that does not fit is refused with `no_space_left_on_device`, or its task fails with it.
// 2. Searches go on meanwhile, over what was there before.
// 3. Once there is room, everything works again without a restart, and nothing refused has left a trace.

const main = fileURLToPath(new URL('../../ts/cli/main.js', import.meta.url))

/** A small disk of its own, null where this machine does not let us mount one. */
async function smallDisk(t: ExecutionContext): Promise<string | null> {
  const path = await mkdtemp(join(tmpdir(), 'siftd-disk-'))
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64m', 'tmpfs', path]).status === 0
  t.teardown(async () => {
    if (mounted) execFileSync('umount', ['-l', path])
    await rm(path, { recursive: true, force: true })
  })
  return mounted ? path : null
}

/** Fills the disk until only `bytes` are left. */
async function leave(disk: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(disk)
  const file = await open(join(disk, 'ballast'), 'a')
  try {
    const chunk = Buffer.alloc(64 * 1024, 1)
    for (let left = bavail * bsize - bytes; left > 0; left -= chunk.length) {
      await file.write(chunk, 0, Math.min(chunk.length, left))
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  } finally {
    await file.close()
  }
}

const freePort = () =>
  new Promise<number>((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })

interface Reply {
  readonly status: number
  readonly body: Record<string, unknown>
}

async function serve(t: ExecutionContext, disk: string, engine: string) {
  const port = await freePort()
  const args = ['--engine', engine, '--db-path', join(disk, 'data'), '--http-addr', `127.0.0.1:${port}`]
  const child: ChildProcess = spawn(process.execPath, [main, ...args, '--log-level', 'off'], {
    stdio: 'ignore',
  })
  const gone = new Promise((resolve) => child.once('exit', resolve))
  t.teardown(async () => {
    child.kill('SIGKILL')
    await gone
  })
  const call = async (method: string, path: string, body?: unknown): Promise<Reply> => {
    const sent =
      body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method, ...sent })
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
  }
  for (;;) {
    const healthy = await call('GET', '/health').catch(() => null)
    if (healthy?.status === 200) return call
    if (child.exitCode !== null) throw new Error(`the daemon ended with ${child.exitCode}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/** Documents whose words repeat nowhere, so that no compression makes them small. */
const documents = (from: number, count: number) =>
  Array.from({ length: count }, (_, at) => ({
    id: from + at,
    kind: 'lighthouse',
    text: Array.from({ length: 8 }, (_, word) =>
      createHash('sha256')
        .update(`${from + at}/${word}`)
        .digest('base64url'),
    ).join(' '),
  }))

for (const engine of ['fallback', 'native']) {
  const runs = engine === 'fallback' || hasNative ? test.serial : test.serial.skip
  runs(
    `${engine}: a full disk refuses writes, lets searches go on, and is forgotten once there is room`,
    async (t) => {
      const disk = await smallDisk(t)
      if (disk === null) {
        t.log('no file system may be mounted here')
        t.pass()
        return
      }
      const call = await serve(t, disk, engine)
      const found = async () =>
        (await call('POST', '/indexes/coast/search', { q: 'lighthouse' })).body.estimatedTotalHits
      const finished = async ({ body }: Reply) => {
        for (;;) {
          const { body: task } = await call('GET', `/tasks/${body.taskUid}`)
          if (task.status === 'succeeded' || task.status === 'failed') return task
          await new Promise((resolve) => setTimeout(resolve, 50))
        }
      }
      const codeOf = (failed: Record<string, unknown>) => (failed.error as { code: string } | null)?.code

      const first = await finished(await call('POST', '/indexes/coast/documents', documents(0, 200)))
      t.is(first.status, 'succeeded')
      t.is(await found(), 200)

      // The body fits, what the engine makes of it does not.
      const more = documents(1000, 4000)
      await leave(disk, JSON.stringify(more).length + 300_000)
      const posted = await call('POST', '/indexes/coast/documents', more)
      const code = posted.status === 202 ? codeOf(await finished(posted)) : posted.body.code
      t.is(code, 'no_space_left_on_device')
      t.is(await found(), 200)

      await leave(disk, 0)
      const refused = await call('POST', '/indexes/coast/documents', documents(5000, 100))
      t.is(refused.status, 422)
      t.is(refused.body.code, 'no_space_left_on_device')
      t.is(await found(), 200)

      await rm(join(disk, 'ballast'))
      t.is(await found(), 200)
      const again = await finished(await call('POST', '/indexes/coast/documents', documents(1000, 4000)))
      t.is(again.status, 'succeeded')
      t.is(await found(), 4200)
    },
  )
}
