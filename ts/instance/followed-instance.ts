import { resolve } from 'node:path'
import { BackgroundFaults, type OpenedEngine } from '../engine/index.js'
import type { ApiError } from '../errors/index.js'
import { type FollowedTasks, openFollowedTasks } from '../tasks/index.js'
import { moduleLog } from '../telemetry/index.js'
import { type DataDirectory, openDataDirectory } from './data-directory.js'
import { type EngineRequest, openEngineIn } from './instance.js'

interface FollowedRequest extends EngineRequest {
  /** A data directory that is a consistent copy. */
  readonly directory: string
  readonly version: string
  readonly userDirectory: string
  /** Makes the error for a write. */
  readonly refusal: () => ApiError
}

/** An open data directory of a follower. */
export interface FollowerInstance {
  readonly data: DataDirectory
  readonly opened: OpenedEngine
  readonly queue: FollowedTasks
  readonly faults: BackgroundFaults
  close(): Promise<void>
}

/** Opens a copy. Neither the engine nor the queue changes anything by itself. @throws LaunchError */
export async function openFollowerInstance(request: FollowedRequest): Promise<FollowerInstance> {
  const { log, version, userDirectory, refusal } = request
  const data = await openDataDirectory({ path: resolve(request.directory), version, userDirectory })
  const faults = new BackgroundFaults(moduleLog(log, 'instance'))
  const opened = await openEngineIn(data.path, { ...request, faults, followsFiles: true })
  try {
    const queue = await openFollowedTasks({
      ...{ directory: data.path, engine: opened.engine, log: moduleLog(log, 'tasks'), refusal },
    })
    return {
      ...{ data, opened, queue, faults },
      async close() {
        await queue.close()
        await opened.engine.close()
      },
    }
  } catch (error) {
    await opened.engine.close()
    throw error
  }
}
