import { resolve } from 'node:path'
import { Cells } from '../http/index.js'
import { LaunchError, type LaunchOptions } from '../launch/index.js'
import type { Outbound } from '../outbound/index.js'
import { CELLS_MAX, cellNamed, openPlacement, PlacementStore } from '../placement/index.js'
import { bucketAddress, openCredentials, s3Store } from '../replication/index.js'
import type { UidClass } from '../tasks/index.js'
import type { Logger } from '../telemetry/index.js'
import { textOf } from './text-of.js'

/** A server that is part of a cell. */
export interface CellSetup {
  readonly cells: Cells
  /** Uids of its tasks and batches. */
  readonly uidClass: UidClass
  close(): Promise<void>
}

interface CellRequest {
  readonly options: LaunchOptions
  /** Calls the bucket. */
  readonly outbound: Outbound
  /** Calls other cells. */
  readonly peers: Outbound
  readonly log: Logger
  readonly signal: AbortSignal
}

/** Returns the placement in a bucket. @throws LaunchError if address or credentials cannot be used */
export function placementStore(
  url: string,
  { endpoint, region, outbound }: { endpoint: string | null; region: string | null; outbound: Outbound },
): PlacementStore {
  const address = bucketAddress(url, endpoint, region ?? process.env.AWS_REGION ?? null, '--placement')
  const credentials = openCredentials({ env: process.env, readText: textOf, outbound })
  return new PlacementStore(s3Store({ address, credentials, outbound }))
}

/** Opens the placement of the options. @throws LaunchError */
export async function openCell(request: CellRequest): Promise<CellSetup> {
  const { options, outbound, peers, log, signal } = request
  const { placement: url, cell: name, bucketEndpoint, bucketRegion } = options
  if (url === null || name === null) throw new LaunchError('--cell needs --placement as well', 2)
  const placement = await openPlacement({
    store: placementStore(url, { endpoint: bucketEndpoint, region: bucketRegion, outbound }),
    directory: resolve(options.dbPath),
    ...{ cell: name, log, signal },
  })
  const rest = cellNamed(placement.current(), name)?.number ?? 0
  return {
    cells: new Cells({ name, placement, peers, masterKey: options.masterKey }),
    uidClass: { modulus: CELLS_MAX, rest },
    close: placement.close,
  }
}
