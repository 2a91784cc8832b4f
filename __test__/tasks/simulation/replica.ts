import type { DriverName } from '../../../ts/tasks/store/driver.js'
import { localValues, replicatedTables } from '../../../ts/tasks/store/replicated-tables.js'
import { Store } from '../../../ts/tasks/store/store.js'
import { storedSets } from '../sets.js'
import { Disk } from './disk.js'
import type { World } from './world.js'

/** Characters of changes that are taken at once: one transaction, some, all. */
const CHARS_MAX = [0, 2_000, 1e9]

/** A store elsewhere that is given what the transactions of another one changed, late and sometimes twice. */
export class Replica {
  readonly #world: World
  readonly #source: Disk
  readonly #disk: Disk
  readonly #store: Store
  /** Number of the last transaction that it has. */
  #last = 0
  /** The store that it follows, as the present process has it open. */
  source: Store | null = null

  constructor(world: World, source: Disk, driver?: DriverName) {
    this.#world = world
    this.#source = source
    this.#disk = new Disk(world, driver)
    this.#store = new Store(this.#disk, {
      isCompared: true,
      identity: null,
      reached: () => undefined,
      settle: () => undefined,
      openCopy: (path) => {
        throw new Error(`nothing in the simulation is copied to ${path}`)
      },
    })
  }

  destroy(): void {
    this.#disk.destroy()
  }

  /** Takes a page of changes. @returns whether there was one */
  take(source: Store): boolean {
    const page = source.changes(this.#world.pick(CHARS_MAX))
    if (page === null) return false
    if (page.last <= this.#last) this.#world.note('changes come once more')
    else this.#apply(page.changes, page.last)
    // The process may end before the source knows.
    if (this.#world.chance(0.9)) source.transaction([() => source.changesSent(page.last, page.last)], false)
    if (this.#world.chance(0.02) && this.#source.rows(['number'], 'FROM outbox').length === 0) this.compare()
    return true
  }

  #apply(changes: Parameters<Store['applyChanges']>[0], last: number): void {
    const [settled] = this.#store.transaction([() => this.#store.applyChanges(changes, last)], true)
    if (settled?.ok === false) this.#world.problem(`changes could not be applied: ${String(settled.error)}`)
    this.#last = last
  }

  /** Takes all that is left, what was not synced yet included. */
  catchUp(): void {
    this.source?.transaction([() => this.source?.sync()], true)
    while (this.source !== null && this.take(this.source));
  }

  /** Compares the rows, and the sets that are no part of the changes. */
  compare(): void {
    for (const { name, key, columns } of replicatedTables) {
      const rows = (disk: Disk) =>
        disk
          .rows(columns.split(', '), `FROM ${name} ORDER BY ${key}`)
          .filter((row) => name !== 'instance' || !localValues.includes(String(row.name)))
          .map((row) => JSON.stringify(row))
      const [wanted, found] = [rows(this.#source), rows(this.#disk)]
      const missing = wanted.filter((row) => !found.includes(row))
      const surplus = found.filter((row) => !wanted.includes(row))
      if (missing.length + surplus.length > 0)
        this.#world.problem(`the replica's ${name} differ: without ${missing[0]}, with ${surplus[0]}`)
    }
    const { stored, real } = storedSets((columns, rest) => this.#disk.rows(columns, rest))
    if (JSON.stringify(stored) !== JSON.stringify(real))
      this.#world.problem('the sets of the replica differ from its rows')
  }
}
