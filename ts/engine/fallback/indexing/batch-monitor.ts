import type { Step } from '../../batches.js'

/** Progress of the current batch. Updated by the indexing thread, read by progress requests. */
export class Progress {
  private step: Step | null = null
  private finished = 0
  private total = 0

  /** Starts a step of `documents` documents; 0: documents are not counted. */
  begin(step: Step, documents: number): void {
    this.step = step
    this.finished = 0
    this.total = documents
  }

  /** Adds documents to the current step. */
  expect(documents: number): void {
    this.total += documents
  }

  count(): void {
    this.finished++
  }

  /** No work is in progress. */
  end(): void {
    this.step = null
  }

  /** Current steps, outermost first; null: no work is in progress. */
  get steps(): readonly Step[] | null {
    if (this.step === null) return null
    const { total } = this
    const documents = { currentStep: 'document', finished: Math.min(this.finished, total), total }
    return total === 0 ? [this.step] : [this.step, documents]
  }
}
