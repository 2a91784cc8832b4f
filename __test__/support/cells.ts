import type { ExecutionContext } from 'ava'
import { Cells } from '../../ts/http/index.js'
import { type OutboundSetup, openOutbound } from '../../ts/outbound/index.js'
import { CELLS_MAX, type Placement } from '../../ts/placement/index.js'
import { startServer, type TestServer, type TestServerOptions } from './server.js'

export const masterKey = 'a-master-key-of-all-cells'

/** A placement as one server knows it. A test can change it. */
interface KnownPlacement {
  current: Placement
  /** The placement after the next refresh; null: the same. */
  next: Placement | null
  refreshes: number
}

export interface CellServer extends TestServer {
  readonly known: KnownPlacement
  readonly cells: Cells
}

export interface CellWorld {
  readonly a: CellServer
  readonly b: CellServer
  /** A server without cells that has all indexes. */
  readonly one: TestServer
  /** Changes the placement that all servers know. */
  place(change: (placement: Placement) => Placement): void
  /** Starts one more server of a cell. */
  start(cell: 'a' | 'b', options?: TestServerOptions): Promise<CellServer>
}

/**
 * Starts two cells: `a`, which is home, and `b`, which has the indexes that begin with `b`.
 * @param calls of the servers to each other
 */
export async function startCells(
  t: ExecutionContext,
  options: TestServerOptions = {},
  indexes: readonly string[] = ['books', 'boats'],
  calls: Pick<OutboundSetup, 'passedSilenceMs'> = {},
): Promise<CellWorld> {
  const peers = openOutbound({ allowedNetworks: 'any', ...calls })
  const servers: CellServer[] = []
  const start: CellWorld['start'] = async (name, more = {}) => {
    const known: KnownPlacement = {
      current: servers[0]?.known.current ?? { version: 0, cells: {}, home: null, indexes: {} },
      next: null,
      refreshes: 0,
    }
    const placement = {
      current: () => known.current,
      async refresh() {
        known.refreshes++
        known.current = known.next ?? known.current
      },
    }
    const cells = new Cells({ name, placement, peers, masterKey })
    const uidClass = { modulus: CELLS_MAX, rest: name === 'a' ? 0 : 1 }
    const server = await startServer(t, { masterKey, cells, uidClass, ...options, ...more })
    const started = { ...server, known, cells }
    servers.push(started)
    return started
  }
  const place: CellWorld['place'] = (change) => {
    for (const { known } of servers) known.current = change(known.current)
  }
  const [a, b] = [await start('a'), await start('b')]
  place(() => ({
    version: 1,
    cells: { a: { number: 0, urls: [a.url] }, b: { number: 1, urls: [b.url] } },
    home: 'a',
    indexes: Object.fromEntries(indexes.map((uid) => [uid, 'b'])),
  }))
  t.teardown(() => peers.close())
  return { a, b, one: await startServer(t, { masterKey, ...options }), place, start }
}
