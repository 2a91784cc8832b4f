/** Dumps of a server, and data directories to import them to. */
import { join } from 'node:path'
import type { ExecutionContext } from 'ava'
import { type ArchiveStart, startFromArchive } from '../../ts/cli/start-from-archive.js'
import { openLog } from '../../ts/telemetry/index.js'
import { startServer, type TestServerOptions, testEngine } from '../support/server.js'
import { tempDir } from './archives.js'

/** A new data directory, and a function to import into it. */
export async function place(t: ExecutionContext) {
  const parent = await tempDir(t)
  const directory = join(parent, 'data.ms')
  const start = async (archive: string, some: Partial<ArchiveStart> = {}): Promise<void> => {
    await startFromArchive({
      kind: 'dump',
      archive,
      ignoreMissing: false,
      ignoreIfDbExists: false,
      directory,
      version: '0.0.0',
      upgrade: false,
      engine: testEngine,
      indexingMemoryBytes: 64 * 1024 * 1024,
      indexingThreads: 1,
      log: openLog({ level: 'OFF', mode: 'JSON' }),
      signal: new AbortController().signal,
      progress: () => undefined,
      ...some,
    })
  }
  return { parent, directory, start }
}

export async function sourceOf(t: ExecutionContext, options: TestServerOptions = {}) {
  const dumpDirectory = join(await tempDir(t), 'dumps')
  const snapshots = { directory: join(await tempDir(t), 'snapshots'), keptMax: 1 }
  const server = await startServer(t, { dumpDirectory, snapshots, ...options })
  const dump = async (): Promise<string> => {
    const task = await server.settle(t, server.post('/dumps'))
    t.is(task.status, 'succeeded', JSON.stringify(task))
    return join(dumpDirectory, `${task.details.dumpUid}.dump`)
  }
  const snapshot = async (): Promise<string> => {
    const task = await server.settle(t, server.post('/snapshots'))
    t.is(task.status, 'succeeded', JSON.stringify(task))
    return join(snapshots.directory, 'data.ms.snapshot')
  }
  return { server, dump, snapshot }
}
