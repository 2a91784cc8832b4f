import { AsyncLocalStorage } from 'node:async_hooks'
import { createHash } from 'node:crypto'
import { numbers } from '../../__test__/support/numbers.js'
import type { Timing } from '../../ts/replication/interruptible-sleep.js'
import type { Clock } from '../../ts/tasks/clock.js'
import type { Micros } from '../../ts/tasks/time.js'

/** A process, from its start until it ends or is killed. */
export interface Life {
  isOver: boolean
}

/**
 * Work of a process outside the queue, such as sending: it waits for events of the world, or reads and writes files.
 *
 * The duration of file access is not deterministic. So only one actor works at a time, in the order of the events that
 * resume them.
 */
export class Actor {
  /** The working actor, for processes with several actors. */
  static readonly #working = new AsyncLocalStorage<Actor>()
  readonly #turns: Turns
  #waits = 0
  #wake: (() => void) | null = null
  #isWoken = false
  /** True once it is done for good. */
  isOver = false

  /** @param life of the process; may later be replaced by a process that continues the work */
  constructor(
    public life: Life,
    turns: Turns,
  ) {
    this.#turns = turns
  }

  /** True while it works, so that the next event must wait for it. */
  get isWorking(): boolean {
    return !this.isOver && !this.life.isOver && this.#waits === 0 && this.#wake === null
  }

  /** Returns the promise of a world event. Within `run` of another actor, that actor waits instead. */
  async waits<T>(event: Promise<T>): Promise<T> {
    const actor = Actor.#working.getStore() ?? this
    actor.#waits++
    try {
      return await event
    } finally {
      actor.#waits--
      await actor.#turns.take(actor)
    }
  }

  /** Resolves when it may start to work. */
  begin(): Promise<void> {
    return this.#turns.take(this)
  }

  /** Runs work of this actor. */
  run<T>(work: () => Promise<T>): Promise<T> {
    return Actor.#working.run(this, async () => {
      await this.begin()
      return work()
    })
  }

  /** Waits for `wake`. */
  async idle(): Promise<void> {
    if (!this.#isWoken) await new Promise<void>((resolve) => (this.#wake = resolve))
    this.#isWoken = false
    await this.#turns.take(this)
  }

  wake(): void {
    this.#isWoken = true
    this.#wake?.()
    this.#wake = null
  }
}

/** Decides which actor may work, and queues the others. */
class Turns {
  #working: Actor | null = null
  readonly #queue: { readonly actor: Actor; readonly begin: () => void }[] = []

  /** Resolves when `actor` may work. */
  async take(actor: Actor): Promise<void> {
    if (this.#working !== actor && (this.#working?.isWorking || this.#queue.length > 0))
      await new Promise<void>((begin) => this.#queue.push({ actor, begin }))
    this.#working = actor
  }

  /** Lets the next actor work if the current one is done. */
  pass(): void {
    if (this.#working?.isWorking) return
    const next = this.#queue.shift()
    this.#working = next?.actor ?? null
    next?.begin()
  }
}

/** Events of polls without a result. */
const QUIET =
  /^the bucket (is asked to (get|list|put (heartbeat|candidates))|answers)|^store (outbox|uploads|changes|value|sync|answers)/

/** True to print each event. */
const isTraced = process.env.SIMULATION_TRACE !== undefined

/** Milliseconds with only such events, after which polling is considered idle. */
const QUIET_MS = 12_000

/** Violations that are recorded. A violation often leads to many others. */
const PROBLEMS_MAX = 10

interface Step {
  readonly name: string
  readonly life: Life
  run(): void
}

interface Timer {
  readonly at: number
  /** True for a timer that only polls from time to time. */
  readonly isIdle: boolean
  readonly life: Life
  done(): void
}

/**
 * The possible next events, from which a random one is picked. Timers are simulated, and the next event waits until no
 * actor works on files, so the same seed gives the same run.
 */
export class World {
  readonly random: () => number
  /** Violations found. */
  readonly problems: string[] = []
  #steps: Step[] = []
  #timers: Timer[] = []
  #actors: Actor[] = []
  readonly #turns = new Turns()
  #elapsedMs = 0
  /** Time of the last event that was not a poll. */
  #busyAt = 0
  #setBackMs = 0
  readonly #trace = createHash('sha256')
  #happened = 0

  constructor(seed: number) {
    this.random = numbers(seed)
  }

  chance(share: number): boolean {
    return this.random() < share
  }

  below(count: number): number {
    return Math.floor(this.random() * count)
  }

  pick<T>(choices: readonly T[]): T {
    const choice = choices[this.below(choices.length)]
    if (choice === undefined) throw new RangeError('there is nothing to choose from')
    return choice
  }

  note(event: string): void {
    this.#happened++
    this.#trace.update(`${event}\n`)
    if (isTraced) console.log(`${this.#happened} ${event}`)
  }

  problem(what: string): void {
    this.note(`PROBLEM ${what}`)
    if (this.problems.length < PROBLEMS_MAX && !this.problems.includes(what)) this.problems.push(what)
  }

  /** Number of events, and a digest of them in order. */
  summary(): { readonly events: number; readonly digest: string } {
    return { events: this.#happened, digest: this.#trace.copy().digest('hex') }
  }

  /** Adds `run` to the possible next events of a process. */
  later(life: Life, name: string, run: () => void): void {
    if (!life.isOver) this.#steps.push({ life, name, run })
  }

  /** Resolves when the event is picked; never if the process ends first. */
  point(life: Life, name: string): Promise<void> {
    return new Promise((resolve) => this.later(life, name, resolve))
  }

  /** Runs one event; false if there is none before the next timer. */
  async step(): Promise<boolean> {
    if (this.#steps.length === 0) return false
    const [step] = this.#steps.splice(this.below(this.#steps.length), 1)
    this.note(step?.name ?? '')
    if (!QUIET.test(step?.name ?? '')) this.#busyAt = this.#elapsedMs
    step?.run()
    await this.settle()
    return true
  }

  /** Jumps to the next timer; false if there is none, or if only polls are left and polling is idle. */
  async pass(): Promise<boolean> {
    const next = this.#timers.reduce<Timer | null>(
      (first, timer) => (first === null || timer.at < first.at ? timer : first),
      null,
    )
    if (next === null) return false
    const isQuiet = this.#timers.every(({ isIdle }) => isIdle)
    if (isQuiet && this.#elapsedMs - this.#busyAt >= QUIET_MS) return false
    if (!next.isIdle) this.#busyAt = next.at
    this.#timers = this.#timers.filter((timer) => timer !== next)
    this.note(`time passes to ${next.at}`)
    this.#elapsedMs = Math.max(this.#elapsedMs, next.at)
    next.done()
    await this.settle()
    return true
  }

  /** Treats the current time as busy, so that polls continue. */
  stir(): void {
    this.#busyAt = this.#elapsedMs
  }

  /** Waits until all promises that can resolve have resolved, and no actor works. */
  async settle(): Promise<void> {
    do {
      await new Promise((resolve) => setImmediate(resolve))
      this.#turns.pass()
    } while (this.#actors.some(({ isWorking }) => isWorking))
  }

  /** Creates an actor of a process. @param actor of an earlier process, to reuse for this one */
  actor(life: Life, actor = new Actor(life, this.#turns)): Actor {
    actor.life = life
    actor.isOver = false
    if (!this.#actors.includes(actor)) this.#actors.push(actor)
    return actor
  }

  /** Milliseconds since the start of the run. */
  get elapsedMs(): number {
    return this.#elapsedMs
  }

  /** Ends a process and drops its events. */
  end(life: Life): void {
    life.isOver = true
    this.#steps = this.#steps.filter((step) => step.life !== life)
    this.#timers = this.#timers.filter((timer) => timer.life !== life)
    this.#actors = this.#actors.filter((actor) => actor.life !== life)
  }

  setClockBack(ms: number): void {
    this.#setBackMs += ms
  }

  clock(life: Life): Clock {
    return { now: () => this.now(), after: (ms, done) => this.#after(life, ms, false, done) }
  }

  /** The timing of work that polls. */
  idleTiming(life: Life): Timing {
    return { now: () => this.#elapsedMs, after: (ms, done) => this.#after(life, ms, true, done) }
  }

  #after(life: Life, ms: number, isIdle: boolean, done: () => void): () => void {
    const timer = { at: this.#elapsedMs + ms, isIdle, life, done }
    if (!life.isOver) this.#timers.push(timer)
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer)
    }
  }

  /** The time. It advances by a microsecond with each call. */
  now(): Micros {
    this.#elapsedMs += 0.001
    return 1_750_000_000_000_000 + Math.round((this.#elapsedMs - this.#setBackMs) * 1000)
  }
}
