/** Opens the server or the directory at rest that the options of a command name. */

import { LaunchError } from '../../launch/index.js'
import { openOutbound } from '../../outbound/index.js'
import { openPeer, type Peer, type PeerSetup } from '../../transfer/index.js'
import {
  type Arguments,
  authoritiesOf,
  Option,
  onServer,
  SERVER_GROUP,
  type ServerOptions,
  serverOf,
} from '../command/index.js'
import { ATTEMPTS_MAX } from './limits.js'

export { onServer }

/** Adds the options for a server or a directory to a read-only command. */
export const onData = (command: Arguments) =>
  onServer(command).addOption(
    new Option(
      '--db-path <directory>',
      'Reads a data directory instead of a server; no server may use it',
    ).helpGroup(SERVER_GROUP),
  )

export interface DataOptions extends ServerOptions {
  readonly dbPath?: string | undefined
}

/** Calls `use` with the server that the options name. */
export async function withServer<T>(
  options: ServerOptions,
  use: (peer: Peer) => Promise<T>,
  setup: PeerSetup = { attemptsMax: ATTEMPTS_MAX },
): Promise<T> {
  const address = serverOf(options)
  // The user chose the address, so private addresses are allowed.
  const outbound = openOutbound({ allowedNetworks: 'any', ...authoritiesOf(options) })
  try {
    return await use(openPeer(outbound, address, setup))
  } finally {
    await outbound.close()
  }
}

/**
 * Calls `use` with the server or the directory that the options name.
 * @param setup.signal aborts calls
 */
export async function withData<T>(
  options: DataOptions,
  use: (peer: Peer) => Promise<T>,
  setup: Pick<PeerSetup, 'signal'> = {},
): Promise<T> {
  const { dbPath, url, key, keyFile } = options
  if (dbPath === undefined) return withServer(options, use, { attemptsMax: ATTEMPTS_MAX, ...setup })
  if (url !== undefined || key !== undefined || keyFile !== undefined)
    throw new LaunchError('--db-path excludes --url, --key and --key-file', 2)
  const { openAtRest } = await import('./at-rest.js')
  const directory = await openAtRest(dbPath)
  try {
    const address = { flag: 'db-path', url: 'http://directory.invalid', key: null, shownAs: dbPath } as const
    return await use(openPeer(directory, address, { attemptsMax: 1, ...setup }))
  } finally {
    await directory.close()
  }
}
