import type { Step } from '../engine/index.js'
import { namesOf, type PickedBatch } from './batching.js'
import type { Clock } from './clock.js'
import type { StepProgress } from './execute/step-progress.js'
import type { EmbedderCounts } from './listing/view.js'
import type { Micros } from './time.js'

/** A batch that is being executed: its progress, and its interruption. */
export class RunningBatch {
  readonly batchUid: number
  readonly indexUid: string | null
  readonly taskUids: ReadonlySet<number>
  /** Names that the batch occupies; see `namesOf`. */
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

  /** The steps so far, with their beginning. */
  get entered(): readonly { readonly name: string; readonly at: Micros }[] {
    return this.#entered
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

  /** Called once the batch is executed and only its record must be written. */
  conclude(): void {
    this.#isWriting = true
  }

  /** True while the batch waits for an embedder. */
  get isEmbedding(): boolean {
    return this.#step.currentStep === 'embedding'
  }

  /** The current steps, each nested in the one before it. */
  async steps(): Promise<readonly Step[]> {
    if (this.#isWriting) return [{ currentStep: 'writing tasks to disk', finished: 1, total: 2 }]
    const step = this.#step
    // A closing engine rejects; its steps are left out.
    const inner = await this.#inner().catch(() => null)
    const outer = [{ currentStep: 'processing tasks', finished: 0, total: 2 }, step]
    // Leaves out engine steps if the step changed after they were requested.
    return step === this.#step && inner !== null ? [...outer, ...inner] : outer
  }

  /** Name of a step → its duration. */
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

/** Initial progress of a step, by its position in `usualSteps`. Other steps count as the first. */
const usualStep = (name: string): Step => ({
  currentStep: name,
  finished: Math.max(0, usualSteps.indexOf(name)),
  total: usualSteps.length,
})

/** Computes the percentage. Each step counts as a share of the step that contains it. */
export function progressOf(steps: readonly Step[]): unknown {
  let share = 100
  let percentage = 0
  for (const { finished, total } of steps) {
    share /= Math.max(1, total)
    percentage += share * finished
  }
  return { steps, percentage: Math.fround(percentage) }
}
