import type { Engine } from '../../engine/index.js'
import type { Run } from '../../launch/index.js'
import type { Tasks } from '../../tasks/index.js'
import type { Features } from '../features.js'
import type { Traits } from './batches.js'
import { infosOf } from './infos.js'
import { systemFigures } from './system.js'

/** The sources of the state of an instance. */
export interface ReportedInstance {
  readonly engine: Engine
  readonly tasks: Tasks
  readonly features: Features
  readonly run: Pick<Run, 'options' | 'given' | 'configFile'>
  /** The data directory. */
  readonly directory: string
}

const DAY_MS = 86_400_000

/** Builds the state of the instance for the identify event. @param startedAt in milliseconds since 1970 */
export async function traitsOf(instance: ReportedInstance, startedAt: number): Promise<Traits> {
  const { run, features, directory } = instance
  return {
    start_since_days: Math.floor((Date.now() - startedAt) / DAY_MS),
    system: await systemFigures(directory, run.options.serverProvider),
    stats: await statsOf(instance),
    infos: infosOf(run, features.flags),
    // The list of metrics has this name also without the group.
    experimental_network: features.flags.network,
  }
}

async function statsOf({ engine, tasks }: ReportedInstance) {
  let [bytes, documents, indexes] = [await tasks.bytes(), 0, 0]
  for (const { id } of tasks.indexes()) {
    indexes += 1
    // A damaged or just deleted index has no figures.
    const stats = await engine.stats(id).catch(() => null)
    bytes += stats?.indexSize ?? 0
    documents += stats?.numberOfDocuments ?? 0
  }
  return { database_size: bytes, indexes_number: indexes, documents_number: documents }
}
