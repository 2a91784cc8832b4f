import { mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { settled } from '../../../trials/damage/world.js'
import { nativeEngine } from '../../support/requirements.js'
import { testEngine } from '../../support/server.js'
import { ServerProcess } from '../../support/server-process.js'
import { testNeeding } from '../../support/test-needing.js'

for (const engine of [testEngine]) {
  const runs = testNeeding(engine === 'native' ? [nativeEngine] : [])
  runs(
    `${engine}: indexes with exchanged directories answer index_damaged, not with documents of the other`,
    async (t) => {
      const data = await mkdtemp(join(tmpdir(), 'siftd-exchanged-'))
      t.teardown(() => rm(data, { recursive: true, force: true }))
      t.teardown(() => rm(`${data}.config`, { recursive: true, force: true }))
      const start = async () => {
        const started = await ServerProcess.start({ data, engine, startMsMax: 120_000 })
        if (started.kind !== 'listening') throw new Error(started.errors)
        t.teardown(() => started.server.kill())
        return started.server
      }
      const first = await start()
      for (const index of ['left', 'right']) {
        await first.call('POST', `/indexes/${index}/documents`, [{ id: index }])
        await settled(first)
      }
      await first.kill()
      const indexes = join(data, 'indexes')
      const entries = await readdir(indexes, { withFileTypes: true })
      const [left, right] = entries
        .filter((entry) => entry.isDirectory())
        .map(({ name }) => join(indexes, name))
      await rename(left!, `${left}.aside`)
      await rename(right!, left!)
      await rename(`${left}.aside`, right!)

      const second = await start()
      for (const index of ['left', 'right']) {
        const { body } = await second.call('POST', `/indexes/${index}/search`, { q: '' })
        t.is((body as { code?: string }).code, 'index_damaged', index)
      }
      t.is(await second.stop(120_000), 0)
    },
  )
}
