// The system date may change at any moment:
// 1. `enqueuedAt` rises with the uids, even if the date is set back.
// 2. Timeouts use a monotonic clock.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ExecutionContext } from 'ava'
import { buildLibrary, Faults, failingCalls } from '../../../trials/faults/library.js'
import { settled } from '../../../trials/faults/load.js'
import type { TaskView } from '../../../trials/faults/model.js'
import { nativeEngine } from '../../support/requirements.js'
import { testEngine } from '../../support/server.js'
import { ServerProcess } from '../../support/server-process.js'
import { testNeeding } from '../../support/test-needing.js'

const HOUR_S = 3_600

/** More documents than an edit reads at a time. */
const DOCUMENTS = 5_000

async function shiftedServers(t: ExecutionContext, engine: string) {
  const directory = await mkdtemp(join(tmpdir(), 'siftd-clock-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  const faults = new Faults(buildLibrary(directory), join(directory, 'control'))
  return {
    faults,
    async start(): Promise<ServerProcess> {
      const data = join(directory, 'data')
      const started = await ServerProcess.start({ data, engine, startMsMax: 60_000, env: faults.env })
      if (started.kind !== 'listening') throw new Error(`${started.kind}: ${started.errors}`)
      t.teardown(() => started.server.kill())
      return started.server
    },
  }
}

for (const engine of [testEngine]) {
  const runs = testNeeding([...(engine === 'native' ? [nativeEngine] : []), failingCalls])

  runs(`${engine}: a task enqueued after the date was set back has no earlier date`, async (t) => {
    t.timeout(120_000)
    const { faults, start } = await shiftedServers(t, engine)
    faults.shiftClock(5 * HOUR_S)
    const ahead = await start()
    await ahead.call('POST', '/indexes', { uid: 'harbours' })
    await settled(ahead)
    t.is(await ahead.stop(30_000), 0)
    faults.shiftClock(0)
    const later = await start()
    await later.call('POST', '/indexes', { uid: 'ferries' })
    await settled(later)
    const { body } = await later.call('GET', '/tasks?reverse=true')
    const [first, second] = (body as { readonly results: readonly TaskView[] }).results
    t.true(Date.parse(first!.enqueuedAt) > Date.now() + 4 * HOUR_S * 1_000, 'the date was ahead')
    t.true(second!.enqueuedAt >= first!.enqueuedAt)
    t.true(second!.finishedAt! >= first!.finishedAt!)
    const before = await later.call(
      'GET',
      `/tasks?beforeEnqueuedAt=${encodeURIComponent(second!.enqueuedAt)}`,
    )
    t.deepEqual(
      (before.body as { readonly results: readonly TaskView[] }).results.map(({ uid }) => uid),
      second!.enqueuedAt > first!.enqueuedAt ? [0] : [],
    )
  })

  runs(`${engine}: an edit continues while the date jumps ahead`, async (t) => {
    t.timeout(120_000)
    const { faults, start } = await shiftedServers(t, engine)
    const server = await start()
    await server.call('PATCH', '/experimental-features', { editDocumentsByFunction: true })
    const documents = Array.from({ length: DOCUMENTS }, (_, id) => ({ id, n: 0 }))
    await server.call('POST', '/indexes/ferries/documents', documents)
    await settled(server)
    let hours = 0
    const jumps = setInterval(() => faults.shiftClock(++hours * HOUR_S), 2)
    t.teardown(() => clearInterval(jumps))
    await server.call('POST', '/indexes/ferries/documents/edit', { function: 'doc.n += 1' })
    await settled(server)
    clearInterval(jumps)
    t.like((await server.call('GET', '/tasks?limit=1')).body, {
      results: [{ status: 'succeeded', error: null, details: { editedDocuments: DOCUMENTS } }],
    })
  })
}
