import { quiet } from '../../__test__/tasks/test-queue.js'
import { noVectorSpool } from '../../ts/embedding/index.js'
import type { DriverName } from '../../ts/sqlite/driver.js'
import type { OpenedTasks, TaskContent } from '../../ts/tasks/index.js'
import { assemble } from '../../ts/tasks/open.js'
import { Bucket } from './bucket.js'
import { Client, type Requests } from './client.js'
import { createSuccessor, Following, type Parts, type Successor } from './copying.js'
import { StandingFollower, type Weakness } from './electing.js'
import { History } from './history.js'
import { Machine } from './machine.js'
import { Oracle } from './oracle.js'
import { engine, quarantine, spool, storeClient } from './parts.js'
import type { ProtocolTrace } from './protocol-trace.js'
import { Sending, type Taken } from './sending.js'
import { type Life, World } from './world.js'

export interface SimulationReport {
  readonly seed: number
  /** Violations found. */
  readonly problems: readonly string[]
  readonly events: number
  /** Digest of all events in order. The same seed gives the same digest. */
  readonly digest: string
  readonly tasks: number
  /** Number of follower states compared with the leader's, and number of takeovers. */
  readonly compared: number
  readonly takeovers: number
  /** Number of takeovers by a follower that noticed the loss of the leader. */
  readonly elections: number
  /** Number of leaders that handed over before they closed. */
  readonly handovers: number
}

const WEBHOOK = '11111111-1111-4111-8111-111111111111'

/** Most events without a client request. More events mean an endless loop. */
const STEPS_TO_REST_MAX = 20_000

/** Options that override the seed. */
export interface SimulationSetup {
  /** The SQLite build; absent: the one that siftd would choose here. */
  readonly driver?: DriverName
  /** True to replicate to a bucket; absent: in one of five runs, because it is slow. */
  readonly hasBucket?: boolean
  /** True if followers replace a lost leader; absent: in every second run with a bucket. */
  readonly elects?: boolean
  /** A rule to break, to show that the checks notice it. */
  readonly weakness?: Weakness
  /** Records what servers do with the log. */
  readonly trace?: ProtocolTrace
}

/**
 * Runs the queue with simulated disk, engine, clients and webhook. With a bucket, also a follower and servers that take
 * over. The seed decides all events and their order.
 */
export async function simulate(seed: number, given: SimulationSetup = {}): Promise<SimulationReport> {
  const run = new Simulation(seed, given)
  try {
    return await run.run()
  } finally {
    run.destroy()
  }
}

const noScript = () => Promise.reject(new Error('the simulation runs no scripts'))

class Process implements Life {
  isOver = false
  opened: OpenedTasks | null = null
  hasFailed = false
  sending: Sending | null = null

  constructor(readonly server: Server) {}
}

/** A machine with its clients and the oracle that checks it. */
class Server {
  readonly oracle: Oracle
  readonly client: Client

  constructor(
    world: World,
    readonly machine: Machine,
    requests: Requests,
  ) {
    this.oracle = new Oracle(world, machine.disk, machine.written, requests.contents)
    this.client = new Client(world, machine.files, requests, this.oracle)
  }
}

class Simulation {
  readonly #seed: number
  readonly #world: World
  readonly #driver: DriverName | undefined
  readonly #bucket: Bucket | null
  readonly #history = new History()
  readonly #machines = new Set<Machine>()
  readonly #requests: Requests = { contents: new Map<string, TaskContent>(), inBucket: new Set(), count: 0 }
  /** All servers so far. */
  readonly #servers: Server[] = []
  readonly #follower: Following | null
  /** Processes of former leaders that have not noticed the takeover yet. */
  readonly #former = new Set<Process>()
  /** Followers that may replace the leader; empty: only an operator replaces it. */
  readonly #candidates = new Map<StandingFollower, Life>()
  readonly #weakness: Weakness | null
  #candidatesSoFar = 0
  #elections = 0
  #handovers = 0
  /** True if the machine of the leader is lost. */
  #isLost = false
  /** The process that is taking over. */
  #candidate: Life | null = null
  #takeovers = 0
  readonly #limits: { readonly tasksMax: number }
  readonly #storedTasksMax: number
  #process: Process
  #isHealthy = true

  constructor(seed: number, { driver, hasBucket, elects, weakness, trace }: SimulationSetup) {
    this.#seed = seed
    this.#world = new World(seed)
    this.#driver = driver
    this.#bucket =
      (hasBucket ?? this.#world.chance(0.2))
        ? new Bucket(this.#world, () => this.#isHealthy, trace ?? null)
        : null
    this.#limits = { tasksMax: this.#world.pick([1, 2, 5, 100]) }
    this.#storedTasksMax = this.#world.pick([12, 1_000_000])
    this.#follower = this.#following()
    const machine = new Machine(this.#world, driver)
    this.#machines.add(machine)
    this.#weakness = weakness ?? null
    const isElecting = this.#bucket !== null && (elects ?? this.#world.chance(0.5))
    if (this.#bucket !== null && isElecting) for (const _ of [1, 2]) this.#addCandidate(this.#bucket)
    this.#process = this.#start(this.#serverOf(machine), null)
  }

  #addCandidate(bucket: Bucket): void {
    const life: Life = { isOver: false }
    const candidate: StandingFollower = new StandingFollower(this.#copying(bucket), life, {
      name: `candidate-${this.#candidatesSoFar++}`,
      weakness: this.#weakness,
      isHasty: () => !this.#isHealthy && this.#world.chance(this.#weakness === null ? 0.01 : 0.1),
      onElected: (successor) => {
        this.#world.note('a candidate was elected')
        if (this.#isLost) this.#elections++
        this.#candidates.delete(candidate)
        if (!this.#isLost) this.#former.add(this.#process)
        this.#leadOn(successor)
        this.#addCandidate(bucket)
      },
    })
    this.#candidates.set(candidate, life)
    void candidate.run().catch((error: unknown) => this.#world.problem(`a candidate ends: ${error}`))
  }

  /** The machine of a new leader accepts writes. */
  #leadOn(successor: Successor): void {
    this.#isLost = false
    this.#takeovers++
    const server = this.#serverOf(successor.machine)
    server.oracle.inherit()
    this.#process = this.#start(server, successor.taken)
    this.#requireInBucket()
  }

  destroy(): void {
    for (const life of [this.#process, ...this.#former, ...this.#candidates.values()]) this.#world.end(life)
    for (const machine of this.#machines) machine.destroy()
  }

  async run(): Promise<SimulationReport> {
    await this.#rest()
    this.#isHealthy = false
    const moves = 100 + this.#world.below(400)
    for (let move = 0; move < moves; move++) await this.#move()
    this.#isHealthy = true
    // Former leaders try to record their batches as long as their disks are full.
    for (const { disk } of this.#machines) disk.heal()
    await this.#rest()
    // The last start must find nothing to recover and nothing to remove.
    this.#restart('a last start')
    await this.#rest()
    const { server } = this.#process
    server.oracle.conclude()
    if (this.#bucket !== null) await this.#concludeBucket(this.#bucket)
    const { files } = server.machine
    if (files.size > 0) this.#world.problem(`${files.size} uploads are left behind`)
    return {
      ...{ seed: this.#seed, problems: this.#world.problems, ...this.#world.summary() },
      ...{ tasks: this.#requests.contents.size, takeovers: this.#takeovers },
      ...{ elections: this.#elections, handovers: this.#handovers },
      compared: this.#follower?.compared ?? 0,
    }
  }

  get #disk(): Machine['disk'] {
    return this.#process.server.machine.disk
  }

  /** Checks that followers have all data of the leader: the follower of the run, and a new follower. */
  async #concludeBucket(bucket: Bucket): Promise<void> {
    const late = this.#following()
    for (let sends = 0; sends < 2; sends++) {
      const { sending } = this.#process
      if (sending === null) return this.#world.problem('at the end there is no leader')
      void sending.sendAll().catch(() => this.#world.note('the writes cannot be made durable'))
      await this.#world.settle()
      await this.#rest()
    }
    const { machine } = this.#process.server
    for (const follower of [this.#follower, late]) follower?.conclude(machine)
    this.#requireInBucket()
    await bucket.inspect()
  }

  /** Checks that all tasks acknowledged as being in the bucket exist, unless a client has deleted them. */
  #requireInBucket(): void {
    const names = this.#process.server.oracle.names()
    const deleted = this.#servers.map(({ oracle }) => oracle.deleted)
    for (const name of this.#requests.inBucket)
      if (!names.has(name) && !deleted.some((each) => each.has(name)))
        this.#world.problem(`the bucket had ${name}, and it is lost`)
  }

  #serverOf(machine: Machine): Server {
    const server = new Server(this.#world, machine, this.#requests)
    this.#servers.push(server)
    return server
  }

  #copying(bucket: Bucket): Parts {
    return { world: this.#world, bucket, driver: this.#driver, machines: this.#machines }
  }

  /** Starts a follower; null without a bucket. */
  #following(): Following | null {
    if (this.#bucket === null) return null
    const follower = new Following(this.#copying(this.#bucket), this.#history, { isOver: false })
    void follower.run().catch((error: unknown) => this.#world.problem(`the follower ends: ${error}`))
    return follower
  }

  /** Another server takes over. The old leader may continue without noticing it. */
  #takeOver(bucket: Bucket): void {
    this.#world.note('another server begins to take over')
    const life: Life = { isOver: false }
    this.#candidate = life
    const taken = (successor: Awaited<ReturnType<typeof createSuccessor>>): void => {
      this.#candidate = null
      if (successor === null) return
      this.#world.note('another server takes over')
      if (!this.#isLost) this.#former.add(this.#process)
      this.#leadOn(successor)
    }
    createSuccessor(this.#copying(bucket), life).then(taken, (error: unknown) =>
      this.#world.problem(`taking over fails: ${error instanceof Error ? error.stack : error}`),
    )
  }

  /** True if another server has taken over from the leader but does not write. */
  get #isLeaderless(): boolean {
    return this.#candidate === null && this.#process.sending?.isFenced === true
  }

  async #move(): Promise<void> {
    const world = this.#world
    // A lost machine seldom comes back before a candidate has taken over.
    const choice = this.#isLost && !world.chance(0.03) ? 200 + world.below(800) : world.below(1000)
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
    else if (choice < 160) this.#ask()
    else if (this.#bucket !== null && choice < 180) this.#disturb(this.#bucket)
    else if (this.#candidates.size > 0 && choice < 184) await this.#close()
    else if (!(await world.step()) && !(await world.pass())) this.#ask()
    await world.settle()
  }

  #ask(): void {
    const { opened, sending, server } = this.#world.pick([this.#process, ...this.#former])
    if (opened !== null) server.client.ask(opened, sending)
  }

  /** Causes an event that only happens with a bucket. */
  #disturb(bucket: Bucket): void {
    const world = this.#world
    const { written } = this.#process.server.machine
    if (world.chance(0.1) && !this.#isLost && [...this.#candidates.keys()].some(({ isReady }) => isReady))
      this.#lose()
    else if (world.chance(0.4) && this.#candidate === null) this.#takeOver(bucket)
    else if (world.chance(0.3) && this.#candidate !== null) {
      world.note('the server that takes over is killed')
      world.end(this.#candidate)
      this.#candidate = null
    } else if (written.indexes.size > 0) {
      const index = world.pick([...written.indexes.keys()])
      world.note('files of an index are merged')
      written.merges.set(index, (written.merges.get(index) ?? 0) + 1)
    }
  }

  /** The machine of the leader is lost. It may come back. */
  #lose(): void {
    this.#world.note('the leader is lost')
    this.#world.end(this.#process)
    this.#process.opened = null
    this.#isLost = true
  }

  #turnDisk(): void {
    this.#world.note(this.#disk.isFull ? 'the disk has room' : 'the disk is full')
    if (this.#disk.isFull) this.#disk.free()
    else this.#disk.fill()
  }

  /** Runs until no event is left. Restarts the process if its store refuses writes. */
  async #rest(): Promise<void> {
    for (let steps = 0; ; steps++) {
      if (steps > STEPS_TO_REST_MAX) {
        this.#world.problem('the queue does not come to rest')
        return
      }
      if (this.#process.hasFailed) this.#restart('starts again')
      // Candidates notice the loss after a while.
      if (this.#isLost) this.#world.stir()
      if (this.#bucket !== null && this.#isLeaderless) this.#takeOver(this.#bucket)
      if ((await this.#world.step()) || (await this.#world.pass())) continue
      if (!this.#process.hasFailed) return
    }
  }

  async #close(): Promise<void> {
    const closing = this.#process
    const { opened } = closing
    if (opened === null) return
    this.#world.note('closes')
    let isClosed = false
    const closed = () => {
      isClosed = true
    }
    const { sending } = closing
    const handsOver = sending !== null && this.#candidates.size > 0 && this.#world.chance(0.7)
    const handed = handsOver ? sending.handOver() : Promise.resolve(null)
    const ended = handed.then((outcome) => {
      if (outcome?.kind === 'done') {
        this.#world.note('the leader has handed over')
        this.#handovers++
      }
      void opened.stop().catch(() => undefined)
      return sending?.stop()
    })
    ended
      .catch(() => undefined)
      .then(() => opened.close())
      .then(closed, closed)
    await this.#world.settle()
    // A process that loses its leadership meanwhile is ended.
    for (let steps = 0; !isClosed && !closing.isOver; steps++) {
      if (!(await this.#world.step()) && !(await this.#world.pass()) && !isClosed) {
        this.#world.problem('closing never ends')
        break
      }
      if (steps > STEPS_TO_REST_MAX) {
        this.#world.problem('closing loops endlessly')
        break
      }
    }
    if (closing === this.#process) this.#restart('starts again')
  }

  #restart(why: string): void {
    this.#world.note(why)
    this.#isLost = false
    this.#world.end(this.#process)
    this.#process = this.#start(this.#process.server, null)
  }

  /** @param taken the log, if this process took it over */
  #start(server: Server, taken: Taken | null): Process {
    const life = new Process(server)
    const fail = () => {
      life.hasFailed = true
    }
    void this.#open(life, taken).catch((error: unknown) => {
      this.#world.note(`could not start: ${String(error)}`)
      fail()
    })
    return life
  }

  async #open(life: Process, taken: Taken | null): Promise<void> {
    const world = this.#world
    const bucket = this.#bucket
    const { machine, oracle } = life.server
    if (bucket !== null)
      machine.disk.committed = () => {
        this.#history.note(machine.disk)
      }
    const store = storeClient(world, life, machine, bucket !== null, () => oracle.check())
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
        engine: engine(world, life, machine, () => this.#isHealthy),
        log,
        limits: this.#limits,
        storedTasksMax: this.#storedTasksMax,
      },
      {
        store,
        spool: spool(world, life, machine.files),
        vectorSpool: noVectorSpool,
        path: 'memory',
        clock: world.clock(life),
        runScript: noScript,
        names: { update: async () => undefined },
        quarantine: quarantine(world, life, machine.written, (id) => oracle.wasNamed(id)),
      },
    )
    await opened.webhooks.put({ uuid: WEBHOOK, url: 'http://receiver', headers: {} }, 20)
    opened.start()
    life.opened = opened
    if (bucket !== null) this.#send(bucket, life, opened, taken)
    void this.#listen(life, opened).catch(() => world.note('the webhook stops'))
  }

  #send(bucket: Bucket, life: Process, opened: OpenedTasks, taken: Taken | null): void {
    const { machine } = life.server
    const onFenced = (): void => {
      life.opened = null
      this.#world.end(life)
      this.#former.delete(life)
    }
    life.sending = new Sending(
      {
        ...{ world: this.#world, bucket, machine, life, isBeating: this.#candidates.size > 0, onFenced },
        successor: () => [...this.#candidates.keys()].find(({ isReady }) => isReady)?.name ?? null,
      },
      opened,
      taken,
    )
  }

  /** A webhook that receives each batch. Some deliveries fail. */
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
      await this.#world.point(life, `the webhook receives batch ${batchUid}`)
      if (!this.#isHealthy && this.#world.chance(0.2)) continue
      life.server.oracle.deliver(batchUid, tasks)
      await this.#world.point(life, 'the webhook answers')
      await webhooks.delivered(WEBHOOK, batchUid)
    }
  }
}
