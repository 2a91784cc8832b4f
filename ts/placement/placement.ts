import { LaunchError } from '../launch/index.js'
import { isHttpUrl, shapes } from '../parse/index.js'
import { CELLS_MAX, URLS_MAX } from './limits.js'

export { CELLS_MAX } from './limits.js'

/** A replicated instance: a prefix of a bucket, its leader and its followers. */
export interface Cell {
  /** Remainder modulo `CELLS_MAX` of the uids of its tasks and batches. Never changes. */
  readonly number: number
  /** Addresses of its servers, of which any takes any request. */
  readonly urls: readonly string[]
}

/** Says which cell holds which index. */
export interface Placement {
  /** Number of the change that made it; 0: nothing is placed yet. */
  readonly version: number
  readonly cells: Readonly<Record<string, Cell>>
  /** The cell of all indexes that `indexes` does not name; null: there is no cell yet. */
  readonly home: string | null
  /** Uid of an index → its cell. */
  readonly indexes: Readonly<Record<string, string>>
}

export const emptyPlacement: Placement = { version: 0, cells: {}, home: null, indexes: {} }

const NAME = /^[A-Za-z0-9_-]{1,64}$/
const UID = /^[A-Za-z0-9_-]{1,512}$/

const cellName = shapes.textThat('the name of a cell', (text) => NAME.test(text))
const shape = shapes.object({
  version: shapes.integer(),
  cells: shapes.record(
    cellName,
    shapes.object({
      number: shapes.integer(CELLS_MAX - 1),
      urls: shapes.list(shapes.textThat('an address', isHttpUrl)),
    }),
  ),
  home: cellName,
  indexes: shapes.record(
    shapes.textThat('the uid of an index', (text) => UID.test(text)),
    cellName,
  ),
})

/** A placement that nothing can be done with. The message names the mistake. */
export class DamagedPlacementError extends Error {
  override readonly name = 'DamagedPlacementError'
}

/** @param from where the text is from, for messages @throws DamagedPlacementError */
export function readPlacement(text: string, from: string): Placement {
  const refuse = (message: string): DamagedPlacementError => new DamagedPlacementError(message)
  const placement = shapes.readShape<Placement>(text, from, shape, refuse)
  const names = Object.keys(placement.cells)
  const numbers = new Set(names.map((name) => placement.cells[name]?.number))
  if (numbers.size < names.length) throw refuse(`${from}: two cells have the same number`)
  for (const name of [placement.home, ...Object.values(placement.indexes)])
    if (cellNamed(placement, name ?? '') === null) throw refuse(`${from}: there is no cell \`${name}\``)
  return placement
}

export const cellNamed = ({ cells }: Placement, name: string): Cell | null =>
  Object.hasOwn(cells, name) ? (cells[name] ?? null) : null

/** Returns the name of the cell that holds an index. Any text is accepted as uid. */
export const cellOfIndex = ({ indexes, home }: Placement, indexUid: string): string | null =>
  Object.hasOwn(indexes, indexUid) ? (indexes[indexUid] ?? null) : home

/** Returns the name of the cell that has made a task or batch; null: no cell has this class of uids. */
export function cellOfUid({ cells }: Placement, uid: number): string | null {
  const found = Object.entries(cells).find(([, { number }]) => number === uid % CELLS_MAX)
  return found?.[0] ?? null
}

const usage = (message: string): LaunchError => new LaunchError(message, 2)

/**
 * Adds a cell, or replaces the addresses of one. The first cell is home.
 * @param number null: the lowest free number, or that of the existing cell
 * @throws LaunchError
 */
export function withCell(
  placement: Placement,
  name: string,
  { number, urls }: { readonly number: number | null; readonly urls: readonly string[] },
): Placement {
  if (!NAME.test(name))
    throw usage(`\`${name}\` is no name of a cell: use 1 to 64 of a-z, A-Z, 0-9, \`-\` and \`_\``)
  if (urls.length === 0 || urls.length > URLS_MAX) throw usage(`a cell has 1 to ${URLS_MAX} addresses`)
  for (const url of urls)
    if (!isHttpUrl(url)) throw usage(`\`${url}\` is no address such as http://search-1:7700`)
  const known = cellNamed(placement, name)
  if (known !== null && number !== null && number !== known.number)
    throw usage(
      `the cell \`${name}\` has number ${known.number}, which never changes: the uids of its tasks name it`,
    )
  const taken = new Map(Object.entries(placement.cells).map(([other, cell]) => [cell.number, other]))
  const chosen = known?.number ?? number ?? lowestFree(taken)
  const holder = taken.get(chosen)
  if (holder !== undefined && holder !== name)
    throw usage(`the number ${chosen} is taken by the cell \`${holder}\``)
  if (!Number.isInteger(chosen) || chosen < 0 || chosen >= CELLS_MAX)
    throw usage(`the number of a cell is from 0 to ${CELLS_MAX - 1}, not ${chosen}`)
  return {
    ...placement,
    version: placement.version + 1,
    cells: { ...placement.cells, [name]: { number: chosen, urls } },
    home: placement.home ?? name,
  }
}

function lowestFree(taken: ReadonlyMap<number, string>): number {
  for (let number = 0; number < CELLS_MAX; number++) if (!taken.has(number)) return number
  throw usage(`there are ${CELLS_MAX} cells already, and no more are possible`)
}

/** Places an index in a cell. The caller has made sure that no other cell has the index. @throws LaunchError */
export function withIndex(placement: Placement, indexUid: string, cell: string): Placement {
  if (!UID.test(indexUid))
    throw usage(`\`${indexUid.slice(0, 100)}\` is no uid of an index: use a-z, A-Z, 0-9, \`-\` and \`_\``)
  if (cellNamed(placement, cell) === null) {
    const names = Object.keys(placement.cells)
    throw usage(
      names.length === 0
        ? `there is no cell \`${cell}\`: add it with \`siftd placement set-cell\``
        : `there is no cell \`${cell}\`; there is \`${names.join('`, `')}\``,
    )
  }
  const { [indexUid]: _, ...others } = placement.indexes
  const indexes = cell === placement.home ? others : { ...others, [indexUid]: cell }
  return { ...placement, version: placement.version + 1, indexes }
}
