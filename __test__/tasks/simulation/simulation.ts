import { noPaidVectors } from '../../../ts/embedders/index.js'
import type { OpenedTasks, TaskContent } from '../../../ts/tasks/index.js'
import { assemble } from '../../../ts/tasks/open.js'
import type { DriverName } from '../../../ts/tasks/store/driver.js'
import { quiet } from '../test-queue.js'
import { Client } from './client.js'
import { Disk } from './disk.js'
import { Oracle } from './oracle.js'
import { type EngineFiles, engine, type Files, quarantine, spool, storeClient } from './parts.js'
import { Replica } from './replica.js'
import { type Life, World } from './world.js'

export interface SimulationReport {
  readonly seed: number
  /** Violations that were found. */
  readonly problems: readonly string[]
  readonly events: number
  /** Digest of all events in their order, the same for the same seed. */
  readonly digest: string
  readonly tasks: number
}

const WEBHOOK = '11111111-1111-4111-8111-111111111111'

/** Most events without a request of a client; more of them mean a loop that never ends. */
const STEPS_TO_REST_MAX = 20_000

/** What the seed does not decide. */
export interface SimulationSetup {
  /** The build of SQLite; absent: the one that siftd would choose here. */
  readonly driver?: DriverName
  /** Whether another store is given what each transaction changed; absent: in one of five runs, since it takes long. */
  readonly isReplicated?: boolean
}

/** One run of the queue with simulated disk, engine, clients and webhook. The seed decides what happens and when. */
export async function simulate(seed: number, given: SimulationSetup = {}): Promise<SimulationReport> {
  const run = new Simulation(seed, given)
  try {
    return await run.carryOut()
  } finally {
    run.destroy()
  }
}

const noScript = () => Promise.reject(new Error('nothing runs scripts here'))

class Process implements Life {
  isOver = false
  opened: OpenedTasks | null = null
  hasFailed = false
}

class Simulation {
  readonly #seed: number
  readonly #world: World
  readonly #disk: Disk
  readonly #replica: Replica | null
  readonly #files: Files = new Map()
  readonly #written: EngineFiles = { indexes: new Map(), applied: new Map(), failed: new Set() }
  readonly #wishes = new Map<string, TaskContent>()
  readonly #oracle: Oracle
  readonly #client: Client
  readonly #limits: { readonly tasksMax: number }
  readonly #storedTasksMax: number
  #process: Process
  #isWell = true

  constructor(seed: number, { driver, isReplicated }: SimulationSetup) {
    this.#seed = seed
    this.#world = new World(seed)
    this.#disk = new Disk(this.#world, driver)
    this.#replica =
      (isReplicated ?? this.#world.chance(0.2)) ? new Replica(this.#world, this.#disk, driver) : null
    this.#oracle = new Oracle(this.#world, this.#disk, this.#written, this.#wishes)
    this.#client = new Client(this.#world, this.#files, this.#wishes, this.#oracle)
    this.#limits = { tasksMax: this.#world.pick([1, 2, 5, 100]) }
    this.#storedTasksMax = this.#world.pick([12, 1_000_000])
    this.#process = this.#start()
  }

  destroy(): void {
    this.#world.end(this.#process)
    this.#disk.destroy()
    this.#replica?.destroy()
  }

  async carryOut(): Promise<SimulationReport> {
    await this.#rest()
    this.#isWell = false
    const moves = 100 + this.#world.below(400)
    for (let move = 0; move < moves; move++) await this.#move()
    this.#isWell = true
    this.#disk.heal()
    await this.#rest()
    // A last start must find nothing to recover and nothing to remove.
    this.#restart('a last start')
    await this.#rest()
    this.#oracle.conclude()
    this.#replica?.catchUp()
    this.#replica?.compare()
    if (this.#files.size > 0) this.#world.problem(`${this.#files.size} uploads are left behind`)
    const { events, digest } = this.#world.summary()
    return { seed: this.#seed, problems: this.#world.problems, events, digest, tasks: this.#wishes.size }
  }

  async #move(): Promise<void> {
    const world = this.#world
    const choice = world.below(1000)
    if (this.#process.hasFailed && world.chance(0.1)) this.#restart('starts again')
    if (choice < 8) this.#restart('killed')
    else if (choice < 14) {
      world.note('the power is cut')
      world.end(this.#process)
      this.#disk.cutPower()
      this.#restart('starts again')
    } else if (choice < 18) await this.#close()
    else if (choice < 30) this.#turnDisk()
    else if (choice < 33) this.#disk.failNextSync()
    else if (choice < 36) world.setClockBack(world.below(86_400_000))
    else if (choice < 160 && this.#process.opened !== null) this.#client.ask(this.#process.opened)
    else if (!(await world.step()) && !(await world.pass()) && this.#process.opened !== null) {
      this.#client.ask(this.#process.opened)
    }
    await world.settle()
  }

  #turnDisk(): void {
    this.#world.note(this.#disk.isFull ? 'the disk has room' : 'the disk is full')
    if (this.#disk.isFull) this.#disk.free()
    else this.#disk.fill()
  }

  /** Runs until no event is left. If the store refuses writes, the process is restarted. */
  async #rest(): Promise<void> {
    for (let steps = 0; ; steps++) {
      if (steps > STEPS_TO_REST_MAX) {
        this.#world.problem('the queue does not come to rest')
        return
      }
      if (this.#process.hasFailed) this.#restart('starts again')
      if ((await this.#world.step()) || (await this.#world.pass())) continue
      if (!this.#process.hasFailed) return
    }
  }

  async #close(): Promise<void> {
    const { opened } = this.#process
    if (opened === null) return
    this.#world.note('closes')
    let isClosed = false
    const closed = () => {
      isClosed = true
    }
    opened.close().then(closed, closed)
    await this.#world.settle()
    for (let steps = 0; !isClosed; steps++) {
      if (!(await this.#world.step()) && !(await this.#world.pass()) && !isClosed) {
        this.#world.problem('closing never ends')
        break
      }
      if (steps > STEPS_TO_REST_MAX) {
        this.#world.problem('closing goes round in circles')
        break
      }
    }
    this.#restart('starts again')
  }

  #restart(why: string): void {
    this.#world.note(why)
    this.#world.end(this.#process)
    this.#process = this.#start()
  }

  #start(): Process {
    const life = new Process()
    const fail = () => {
      life.hasFailed = true
    }
    void this.#open(life).catch((error: unknown) => {
      this.#world.note(`could not start: ${String(error)}`)
      fail()
    })
    return life
  }

  async #open(life: Process): Promise<void> {
    const world = this.#world
    const store = storeClient(world, life, this.#disk, this.#files, this.#replica, () => this.#oracle.look())
    const log = {
      ...quiet,
      error: (facts: object, message: string) => {
        const { err } = facts as { err?: unknown }
        world.note(`${message}: ${err instanceof Error ? err.message.split('\n')[0] : ''}`)
        if (message.includes('read-only')) life.hasFailed = true
      },
    }
    const opened = await assemble(
      {
        engine: engine(world, life, this.#written, this.#files, () => this.#isWell),
        log,
        limits: this.#limits,
        storedTasksMax: this.#storedTasksMax,
      },
      {
        store,
        spool: spool(world, life, this.#files),
        paidVectors: noPaidVectors,
        path: 'memory',
        clock: world.clock(life),
        runScript: noScript,
        names: { update: async () => undefined },
        quarantine: quarantine(world, life, this.#written, (id) => this.#oracle.wasNamed(id)),
      },
    )
    await opened.webhooks.put({ uuid: WEBHOOK, url: 'http://receiver', headers: {} }, 20)
    opened.start()
    life.opened = opened
    void this.#listen(life, opened).catch(() => world.note('the webhook stops'))
  }

  /** A webhook that is told of each batch. Some deliveries fail. */
  async #listen(life: Process, { webhooks }: OpenedTasks): Promise<void> {
    let isWoken = false
    let wake: () => void = () => undefined
    webhooks.onBatch(() => {
      isWoken = true
      wake()
    })
    for (;;) {
      isWoken = false
      const batchUid = await webhooks.next(WEBHOOK)
      if (batchUid === null) {
        if (!isWoken) await new Promise<void>((resolve) => (wake = resolve))
        continue
      }
      const tasks = await webhooks.tasks(batchUid, -1, 10_000)
      await this.#world.point(life, `the webhook is told of batch ${batchUid}`)
      if (!this.#isWell && this.#world.chance(0.2)) continue
      this.#oracle.tell(batchUid, tasks)
      await this.#world.point(life, 'the webhook answers')
      await webhooks.delivered(WEBHOOK, batchUid)
    }
  }
}
