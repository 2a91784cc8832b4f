import { AsyncLocalStorage } from 'node:async_hooks'
import { createHash } from 'node:crypto'
import { numbers } from '../../__test__/support/numbers.js'
import type { Timing } from '../../ts/replication/alarm.js'
import type { Clock } from '../../ts/tasks/clock.js'
import type { Micros } from '../../ts/tasks/time.js'

/** One process: from its start until it ends or is killed. */
export interface Life {
  isOver: boolean
}

/**
 * Work of a process beside the queue, such as sending: it waits for events of the world, or reads and writes files.
 *
 * How long files take is not known, so that of several actors one works at a time, in the order in which events let
 * them go on.
 */
export class Actor {
  /** Whose work is under way, where a process has several. */
  static readonly #working = new AsyncLocalStorage<Actor>()
  readonly #turns: Turns
  #waits = 0
  #wake: (() => void) | null = null
  #isWoken = false
  /** Whether it is done for good. */
  isOver = false

  /** @param life of the process, which may become another one that goes on with its work */
  constructor(
    public life: Life,
    turns: Turns,
  ) {
    this.#turns = turns
  }

  /** Whether events or files will make it go on. */
  get isAtFiles(): boolean {
    return !this.isOver && !this.life.isOver && this.#waits === 0 && this.#wake === null
  }

  /** The same promise, which an event of the world resolves. Within `doing` of another actor that one waits for it. */
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

  /** Resolves when it may begin to work. */
  begin(): Promise<void> {
    return this.#turns.take(this)
  }

  /** Carries out work of this actor. */
  doing<T>(work: () => Promise<T>): Promise<T> {
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

/** Which actor may work, and which ones wait until it is done. */
class Turns {
  #working: Actor | null = null
  readonly #queue: { readonly actor: Actor; readonly begin: () => void }[] = []

  /** Resolves when it is the turn of `actor`. */
  async take(actor: Actor): Promise<void> {
    if (this.#working !== actor && (this.#working?.isAtFiles || this.#queue.length > 0))
      await new Promise<void>((begin) => this.#queue.push({ actor, begin }))
    this.#working = actor
  }

  /** Lets the next actor work if the one before is done. */
  pass(): void {
    if (this.#working?.isAtFiles) return
    const next = this.#queue.shift()
    this.#working = next?.actor ?? null
    next?.begin()
  }
}

/** Events of looks that find nothing. */
const QUIET =
  /^the bucket (is asked to (get|list)|answers)|^store (outbox|uploads|changes|value|sync|answers)/

/** Milliseconds without other events after which looks are taken to find nothing any more. */
const QUIET_MS = 12_000

/** Violations that are kept; one of them often leads to many. */
const PROBLEMS_MAX = 10

interface Step {
  readonly name: string
  readonly life: Life
  run(): void
}

interface Timer {
  readonly at: number
  /** Whether it only has something looked at from time to time. */
  readonly isIdle: boolean
  readonly life: Life
  done(): void
}

/**
 * The events that could happen next, one of which is picked at random. No timer is a real one, and the next event waits
 * until no actor works at files, so the same seed gives the same run.
 */
export class World {
  readonly random: () => number
  /** Violations that were found. */
  readonly problems: string[] = []
  #steps: Step[] = []
  #timers: Timer[] = []
  #actors: Actor[] = []
  readonly #turns = new Turns()
  #elapsedMs = 0
  /** When something happened last that is no look. */
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
    if (process.env.SIMULATION_TRACE !== undefined) console.log(`${this.#happened} ${event}`)
  }

  problem(what: string): void {
    this.note(`PROBLEM ${what}`)
    if (this.problems.length < PROBLEMS_MAX && !this.problems.includes(what)) this.problems.push(what)
  }

  /** Number of events, and a digest of all of them in their order. */
  summary(): { readonly events: number; readonly digest: string } {
    return { events: this.#happened, digest: this.#trace.copy().digest('hex') }
  }

  /** Adds `run` to the events that can happen next in that process. */
  later(life: Life, name: string, run: () => void): void {
    if (!life.isOver) this.#steps.push({ life, name, run })
  }

  /** Resolves when the event is picked; never if the process ends before. */
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

  /** Jumps to the next timer; false if there is none, or if they only have things looked at, and found nothing for long. */
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

  /** Waits until all promises that can resolve have done so. */
  async settle(): Promise<void> {
    do {
      await new Promise((resolve) => setImmediate(resolve))
      this.#turns.pass()
    } while (this.#actors.some(({ isAtFiles }) => isAtFiles))
  }

  /** An actor of a process. @param actor of an earlier process, which becomes this one's */
  actor(life: Life, actor = new Actor(life, this.#turns)): Actor {
    actor.life = life
    actor.isOver = false
    if (!this.#actors.includes(actor)) this.#actors.push(actor)
    return actor
  }

  /** Milliseconds since the beginning. */
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

  /** The time of work that looks for something to do again and again. */
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

  /** The time, which moves on by a microsecond with each call. */
  now(): Micros {
    this.#elapsedMs += 0.001
    return 1_750_000_000_000_000 + Math.round((this.#elapsedMs - this.#setBackMs) * 1000)
  }
}
