/** Compiled code kept between starts on Node.js 20. Its gain is measured by `npm run bench:start`. */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import module from 'node:module'
import { join } from 'node:path'
import type { ExecutionContext } from 'ava'
import { startDaemon } from '../../support/daemon.js'
import { bundle, type Requirement } from '../../support/requirements.js'
import { testNeeding } from '../../support/test-needing.js'
import { temporaryDirectory } from '../../tasks/test-queue.js'

const isKeptByNode = 'enableCompileCache' in module
const ours: Requirement = { missing: isKeptByNode ? 'Node.js keeps it' : null, isDemanded: false }

/** Starts a server, and waits until `isSaved`. @returns the bytes of the file with compiled code */
async function savedBy(t: ExecutionContext, cache: string, isSaved: (bytes: Buffer) => boolean) {
  const directory = join(cache, 'siftd')
  const daemon = await startDaemon(t, await temporaryDirectory(t), ['--no-analytics'], {
    XDG_CACHE_HOME: cache,
  })
  t.is((await daemon.call('POST', '/multi-search', { queries: [] })).status, 200)
  for (;;) {
    const names = await readdir(directory).catch(() => [])
    // Not the one that is being written.
    const name = names.find((one) => one.endsWith(process.arch)) ?? ''
    const bytes = await readFile(join(directory, name)).catch(() => Buffer.alloc(0))
    if (isSaved(bytes)) {
      t.is(await daemon.stop(), 0)
      return { path: join(directory, name), bytes }
    }
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

testNeeding([bundle, ours])('a start saves compiled code, and replaces damaged code', async (t) => {
  const cache = await temporaryDirectory(t)
  const { path, bytes } = await savedBy(t, cache, ({ length }) => length > 0)
  t.true(bytes.includes('server-'), 'the code of the HTTP server')
  const damaged = Buffer.from(bytes).fill(0xff, bytes.length >> 1)
  await writeFile(path, damaged)
  const again = await savedBy(t, cache, (now) => !now.equals(damaged))
  t.is(again.path, path)
  t.true(again.bytes.includes('server-'))
})
