import type { Engine } from '../engine/index.js'
import type { Features } from '../instance/index.js'
import type { Run } from '../launch/index.js'
import type { Tasks } from '../tasks/index.js'
import type { Traits } from './batches.js'
import { infosOf } from './infos.js'
import { systemFigures } from './system.js'

/** What the state of an instance is read from. */
export interface Instance {
  readonly engine: Engine
  readonly tasks: Tasks
  readonly features: Features
  readonly run: Pick<Run, 'options' | 'given' | 'configFile'>
  /** The data directory. */
  readonly directory: string
}

const DAY_MS = 86_400_000

/** The state of the instance as the identify event publishes it. @param startedAt in milliseconds since 1970 */
export async function traitsOf(instance: Instance, startedAt: number): Promise<Traits> {
  const { run, features, directory } = instance
  return {
    start_since_days: Math.floor((Date.now() - startedAt) / DAY_MS),
    system: await systemFigures(directory, run.options.serverProvider),
    stats: await statsOf(instance),
    infos: infosOf(run, features.flags),
    // Source: the list of metrics has this name without the group as well.
    experimental_network: features.flags.network,
  }
}

async function statsOf({ engine, tasks }: Instance) {
  let [bytes, documents, indexes] = [await tasks.bytes(), 0, 0]
  for (const { id } of tasks.indexes()) {
    indexes += 1
    // An index that is damaged, or was deleted since the list was read, has none.
    const stats = await engine.stats(id).catch(() => null)
    bytes += stats?.indexSize ?? 0
    documents += stats?.numberOfDocuments ?? 0
  }
  return { database_size: bytes, indexes_number: indexes, documents_number: documents }
}
