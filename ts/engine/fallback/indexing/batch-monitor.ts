import type { Step } from '../../engine.js'

/** How far the batch on its way has come: counted by the indexing thread, read by requests for progress. */
export class Progress {
  private step: Step | null = null
  private finished = 0
  private total = 0

  /** Begins a step of so many documents; without any, they are not counted. */
  begin(step: Step, documents: number): void {
    this.step = step
    this.finished = 0
    this.total = documents
  }

  /** The step turns out to have so many more documents. */
  expect(documents: number): void {
    this.total += documents
  }

  count(): void {
    this.finished++
  }

  /** Nothing is done any more. */
  end(): void {
    this.step = null
  }

  /** What is being done, outermost first; null: nothing. */
  get steps(): readonly Step[] | null {
    if (this.step === null) return null
    const { total } = this
    const documents = { currentStep: 'document', finished: Math.min(this.finished, total), total }
    return total === 0 ? [this.step] : [this.step, documents]
  }
}
