import type { Step } from '../engine/index.js'
import type { PickedBatch } from './batching.js'
import type { Clock } from './clock.js'
import type { StepProgress } from './execute/step-progress.js'
import type { EmbedderCounts } from './listing/view.js'
import type { Micros } from './time.js'

/** The batch being carried out. */
export class RunningBatch {
  readonly batchUid: number
  readonly indexUid: string | null
  readonly taskUids: ReadonlySet<number>
  readonly startedAt: Micros
  readonly failedCommits: string[] = []
  readonly requests: EmbedderCounts = { total: 0, failed: 0, lastError: null }
  readonly #interruption = new AbortController()
  readonly #clock: Clock
  readonly #entered: { readonly name: string; readonly at: Micros }[] = []
  #isWriting = false
  #step: Step = usualStep('starting')
  #inner: () => Promise<readonly Step[] | null> = nothingInside

  constructor(batchUid: number, picked: PickedBatch, clock: Clock) {
    this.#clock = clock
    this.startedAt = clock.now()
    this.batchUid = batchUid
    this.indexUid = picked.indexUid
    this.taskUids = new Set(picked.tasks.map(({ uid }) => uid))
  }

  get signal(): AbortSignal {
    return this.#interruption.signal
  }

  interrupt(): void {
    this.#interruption.abort()
  }

  enter(name: string, progress?: StepProgress): void {
    this.#step = progress === undefined ? usualStep(name) : { currentStep: name, ...progress }
    this.#inner = nothingInside
    this.#entered.push({ name, at: this.#clock.now() })
  }

  count(unit: string, finished: number, total: number): void {
    const inner = [{ currentStep: unit, finished, total }]
    this.#inner = async () => inner
  }

  follow(inner: () => Promise<readonly Step[] | null>): void {
    this.#inner = inner
  }

  /** It is carried out, and only has to be written down. */
  conclude(): void {
    this.#isWriting = true
  }

  /** What is being done, outermost first. */
  async steps(): Promise<readonly Step[]> {
    if (this.#isWriting) return [{ currentStep: 'writing tasks to disk', finished: 1, total: 2 }]
    const step = this.#step
    // The engine that is asked may be closing; then the steps inside are not shown.
    const inner = await this.#inner().catch(() => null)
    const outer = [{ currentStep: 'processing tasks', finished: 0, total: 2 }, step]
    // What was inside a step that has ended meanwhile is not inside the next one.
    return step === this.#step && inner !== null ? [...outer, ...inner] : outer
  }

  /** Step → time it took. */
  trace(finishedAt: Micros): Readonly<Record<string, string>> {
    const trace: Record<string, string> = {}
    for (const [position, { name, at }] of this.#entered.entries()) {
      const end = this.#entered[position + 1]?.at ?? finishedAt
      trace[`processing tasks > ${name}`] = milliseconds(end - at)
    }
    return { ...trace, 'processing tasks': milliseconds(finishedAt - this.startedAt) }
  }
}

const milliseconds = (micros: Micros) => `${(micros / 1000).toFixed(2)}ms`

const nothingInside = async () => null

const usualSteps = ['starting', 'preparing', 'embedding', 'committing']

/** A step of a batch that ends with a commit; any other is its beginning. */
const usualStep = (name: string): Step => ({
  currentStep: name,
  finished: Math.max(0, usualSteps.indexOf(name)),
  total: usualSteps.length,
})

/** Each step counts for its share of the one around it. */
export function progressOf(steps: readonly Step[]): unknown {
  let share = 100
  let percentage = 0
  for (const { finished, total } of steps) {
    share /= Math.max(1, total)
    percentage += share * finished
  }
  return { steps, percentage: Math.fround(percentage) }
}
