/** Parts of a sync that its commands share: configuration, database, target. */
import { setMaxListeners } from 'node:events'
import { LaunchError } from '../../../launch/index.js'
import { openOutbound } from '../../../outbound/index.js'
import {
  Destination,
  isSourceError,
  openPeer,
  ProgressStore,
  readSyncConfig,
  type Source,
  type SyncConfig,
} from '../../../transfer/index.js'
import { authoritiesOf, type CommandOutput, serverOf } from '../../command/index.js'
import { sourcePackage } from './package.js'

export interface SyncContext {
  readonly config: SyncConfig
  readonly source: Source
  readonly target: Destination
  readonly store: ProgressStore
  readonly signal: AbortSignal
}

export interface SyncOptions {
  readonly config: string
  readonly ca?: string | undefined
}

/** Attempts of a call before the first line about its failure. */
const QUIET_ATTEMPTS = 3

/** Opens database and target of the configuration, and closes them after `work`. SIGTERM and SIGINT abort `signal`. */
export async function withSync<T>(
  options: SyncOptions,
  output: CommandOutput,
  work: (context: SyncContext) => Promise<T>,
): Promise<T> {
  const config = await readSyncConfig(options.config)
  const { openSource } = await sourcePackage('postgres')
  const stop = new AbortController()
  // Every running call adds a listener to it.
  setMaxListeners(0, stop.signal)
  const abort = () => stop.abort()
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, abort)
  const { signal } = stop
  const log = (line: string) => output.note(line)
  const { url, key, keyFile } = config.target
  const address = serverOf({ url, key: key ?? undefined, keyFile: keyFile ?? undefined })
  // The user chose the address, so private addresses are allowed.
  const outbound = openOutbound({ allowedNetworks: 'any', ...authoritiesOf(options) })
  try {
    const source = openSource(config.source, config.mappings, log)
    try {
      const target = new Destination(openPeer(outbound, address, { attemptsMax: QUIET_ATTEMPTS, signal }), {
        log,
        signal,
      })
      return await work({ config, source, target, store: new ProgressStore(target, config.name), signal })
    } finally {
      await source.close()
    }
  } catch (error) {
    throw asLaunchError(error)
  } finally {
    for (const name of ['SIGTERM', 'SIGINT'] as const) process.off(name, abort)
    await outbound.close()
  }
}

/** Shows errors of the database as one line. */
export function asLaunchError(error: unknown): unknown {
  return isSourceError(error) ? new LaunchError(error.message, 1, { cause: error }) : error
}
