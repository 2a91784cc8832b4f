import { join } from 'node:path'
import { type EngineChoice, type OpenedEngine, openEngine } from '../engine/index.js'
import { type OpenedTasks, openTasks } from '../tasks/index.js'
import type { Logger } from '../telemetry/index.js'
import { type DataDirectory, openDataDirectory } from './data-directory.js'

export interface InstanceRequest {
  readonly directory: string
  readonly version: string
  readonly upgrade: boolean
  /** Directory of per-user configuration. */
  readonly userDirectory: string
  readonly engine: EngineChoice
  readonly indexingMemoryBytes: number
  readonly indexingThreads: number
  /** null: no limit but the task room's own. */
  readonly batch: { readonly tasksMax: number | null; readonly payloadBytesMax: number | null }
  readonly log: Logger
}

/** A data directory with its engine and queue, without any way in. */
export interface Instance {
  readonly data: DataDirectory
  readonly opened: OpenedEngine
  readonly queue: OpenedTasks
  /** Closes the queue, then the engine. */
  close(): Promise<void>
}

/** Opens what the daemon and the in-process entry share. The queue waits for its `start`. */
export async function openInstance(request: InstanceRequest): Promise<Instance> {
  const { log, version, upgrade, userDirectory } = request
  const data = await openDataDirectory({ path: request.directory, version, upgrade, userDirectory })
  const opened = await openEngine(request.engine, {
    directory: join(data.path, 'indexes'),
    log,
    indexingMemoryBytes: request.indexingMemoryBytes,
    indexingThreads: request.indexingThreads,
  })
  try {
    const { engine } = opened
    const queue = await openTasks({ directory: data.path, engine, log, limits: request.batch })
    return {
      data,
      opened,
      queue,
      async close() {
        await queue.close()
        await engine.close()
      },
    }
  } catch (error) {
    await opened.engine.close()
    throw error
  }
}
