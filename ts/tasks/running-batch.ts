import type { Step } from '../engine/index.js'
import { namesOf, type PickedBatch } from './batching.js'
import type { Clock } from './clock.js'
import type { StepProgress } from './execute/step-progress.js'
import type { EmbedderCounts } from './listing/view.js'
import type { Micros } from './time.js'

/** The batch being carried out: its progress, and the request to interrupt it. */
export class RunningBatch {
  readonly batchUid: number
  readonly indexUid: string | null
  readonly taskUids: ReadonlySet<number>
  /** What the batch works on, besides other batches; see `namesOf`. */
  readonly names: readonly string[]
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
    this.names = [...new Set(picked.tasks.flatMap(namesOf))]
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

  /** Says that the batch is carried out and that only its record has to be written. */
  conclude(): void {
    this.#isWriting = true
  }

  /** Whether others do the work: an embedder is asked for vectors. */
  get isEmbedding(): boolean {
    return this.#step.currentStep === 'embedding'
  }

  /** The steps under way, each within the one before it. */
  async steps(): Promise<readonly Step[]> {
    if (this.#isWriting) return [{ currentStep: 'writing tasks to disk', finished: 1, total: 2 }]
    const step = this.#step
    // An engine that is closing rejects; its steps are left out.
    const inner = await this.#inner().catch(() => null)
    const outer = [{ currentStep: 'processing tasks', finished: 0, total: 2 }, step]
    // Steps of the engine belong to the step that was under way when they were asked for.
    return step === this.#step && inner !== null ? [...outer, ...inner] : outer
  }

  /** Name of a step → how long it took. */
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

/** Progress at the beginning of a step, by its position among `usualSteps`; other steps count as the first. */
const usualStep = (name: string): Step => ({
  currentStep: name,
  finished: Math.max(0, usualSteps.indexOf(name)),
  total: usualSteps.length,
})

/** The percentage counts each step as a share of the step that contains it. */
export function progressOf(steps: readonly Step[]): unknown {
  let share = 100
  let percentage = 0
  for (const { finished, total } of steps) {
    share /= Math.max(1, total)
    percentage += share * finished
  }
  return { steps, percentage: Math.fround(percentage) }
}
